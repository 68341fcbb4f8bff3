"""Kills a run by SIGKILL at random times: every cell must occur once, and nothing be left."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

from aferir.errors import ProgramError
from aferir.linux import process
from aferir.model.bench import BenchResult, Figure
from aferir.model.plan import EnvironmentKind
from aferir.registry import by_kind
from aferir.selftest.leftovers import judge_leftovers, leftovers, own_state
from aferir.selftest.options import BenchOptions, Note
from aferir.store import list_runs, open_run

HELP = "SIGKILL at ten random moments of a run: all cells exactly once, nothing left"
PEERS = ()

_KILLS = 10
_REPETITIONS = 4
_LONGEST_WAIT_S = 4.0
_TIME_LIMIT_S = 900.0
_HEAD = """
[experiment]
name = "killed"
title = "A run that is killed again and again"
baseline = "native"
seed = {seed}
warmup = 0
time_limit = "20 min"

[stop]
repetitions = {repetitions}
emulated = {repetitions}

[[workload]]
name = "EP"
program = "npb"
kernel = "ep"
class = "S"
threads = 1

[[workload]]
name = "CG"
program = "npb"
kernel = "cg"
class = "S"
threads = 1
"""
_ENVIRONMENT = """
[[environment]]
name = "{kind}"
kind = "{kind}"
cpus = 1
memory = "512 MiB"
"""


def run(options: BenchOptions, note: Note) -> BenchResult:
    """Kill and restart the same run; a virtual machine is included unless `--quick` is set."""
    kinds: list[EnvironmentKind] = ["native", "container"]
    if not options.quick:
        kinds.append("vm")
    kinds = [k for k in kinds if all(f.status != "missing" for f in by_kind(k).check())]
    draw = random.Random(options.seed)  # noqa: S311
    with own_state() as state:
        for kind in kinds:
            by_kind(kind).prepare()  # or all kills would be while KVM is tried for the first time
        runs = state / "runs"
        experiment = state / "killed.toml"
        head = _HEAD.format(seed=options.seed, repetitions=_REPETITIONS)
        environments = "".join(_ENVIRONMENT.format(kind=kind) for kind in kinds)
        experiment.write_text(head + environments, encoding="utf-8")
        command = [sys.executable, "-m", "aferir", "run", str(experiment), "--runs", str(runs)]
        killed = _kill_again_and_again(command, draw, note)
        note("to the end", 0.9)
        last = process.run(command, timeout_s=_TIME_LIMIT_S, check=False)
        if last.exit_code != 0:
            raise ProgramError(f"the last start of the run {process.explain_exit(last)}")
        process.run([sys.executable, "-m", "aferir", "clean"], timeout_s=60.0)
        missing, twice, folders = _count(runs, kinds)
        left = leftovers(state)
    note_kinds = ", ".join(kinds)
    return BenchResult(
        bench="resume",
        quick=options.quick,
        figures=(
            _zero("cells.missing", missing, killed, f"over {note_kinds}"),
            _zero("cells.twice", twice, killed, f"over {note_kinds}"),
            _zero("runs.besides_the_first", folders - 1, killed, "a restart goes on with its run"),
            judge_leftovers("left_behind", left, killed),
        ),
        warnings=() if killed == _KILLS else (f"the run ended after {killed} kills",),
    )


def _kill_again_and_again(command: list[str], draw: random.Random, note: Note) -> int:
    killed = 0
    for k in range(_KILLS):
        note(f"kill {k + 1}", 0.9 * k / _KILLS)
        child = process.start(command)
        try:
            # Kills are spread over the whole run; its first second is mostly start-up.
            child.wait(timeout=draw.uniform(0.3, _LONGEST_WAIT_S))
            break
        except subprocess.TimeoutExpired:
            os.kill(child.pid, signal.SIGKILL)
            child.wait()
            killed += 1
    return killed


def _count(runs: Path, kinds: list[EnvironmentKind]) -> tuple[int, int, int]:
    """Number of missing cells, of duplicate cells, and of run folders."""
    folders = list_runs(runs)
    counts: Counter[tuple[str, int]] = Counter()
    for folder in folders:
        records = open_run(folder.folder).records
        counts.update((r.cell, r.repetition) for r in records if r.workload != "allocation")
    expected = len(kinds) * 2 * _REPETITIONS
    return expected - len(counts), sum(n > 1 for n in counts.values()), len(folders)


def _zero(name: str, value: int, n: int, note: str) -> Figure:
    return Figure(
        name=name, value=float(value), unit="count", n=n, target="== 0", holds=value == 0, note=note
    )
