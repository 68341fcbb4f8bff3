"""Check all experiment files of the five studied works, and run every short form to its end.

Files are checked for the largest server that any of them needs. A step without a short form is run
as it is. Runs are stored in `runs/studies` below the working folder. A file that has a complete run
there is reported from it, and an unfinished run is continued: so a killed bench continues where it
was.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from aferir import machine
from aferir.config import parse, with_hosts
from aferir.errors import AferirError, TimeoutExpired
from aferir.linux import process
from aferir.model.bench import BenchResult, Figure
from aferir.registry import all_programs, by_kind, kinds
from aferir.selftest.leftovers import judge_leftovers, leftovers, own_state
from aferir.selftest.options import BenchOptions, Note
from benchmarks.parts import Part, run_parts
from benchmarks.studies import hosts
from benchmarks.studies.outcome import figures_of, finished, incomplete
from benchmarks.studies.steps import FOLDER, file_of, full, over_hosts, short, without_short

HELP = "studies: every file of the five works checked for its server, every short form run"
PEERS = ()
SELECTABLE = True
RUNS = Path("runs/studies")
SERVER = "16,32GiB"
"""Processors and memory of the largest server that a file of the five works asks for."""
_CHECK_S = 120.0
_RUN_S = 50 * 3600.0
"""Time limit of one file in s; those in the files that are run here are at most 48 h."""
_AFERIR = (sys.executable, "-m", "aferir")


def run(options: BenchOptions, note: Note) -> BenchResult:
    """Run all parts, or those that `--only` names; with `--quick` no short form is run."""
    parts: dict[str, Part] = {"hosts": _hosts}
    parts |= {f"check.{name}": partial(_check, name) for name in full()}
    if not options.quick:
        parts |= {f"short.{name}": partial(_run, f"short.{name}", name) for name in short()}
        parts |= {f"full.{name}": partial(_run, f"full.{name}", name) for name in without_short()}
    return run_parts("studies", parts, options, note)


def _hosts(_options: BenchOptions, note: Note) -> list[Figure]:
    """Count how many of the hosts, which are containers, have an agent that answers."""
    note(f"reaching {hosts.NODES} hosts of containers", 0.0)
    with own_state() as own:
        words = ["hosts", "check", str(hosts.unconnected(own, "node"))]
        done = process.run([*_AFERIR, *words], timeout_s=_CHECK_S, check=False)
    return [_all_or_nothing("hosts.reached", "hosts", hosts.NODES, done)]


def _check(name: str, _options: BenchOptions, note: Note) -> list[Figure]:
    """Check one file for a server of 16 processors, with six hosts like it and a guest on each."""
    note(f"checking {name}", 0.0)
    words = ["run", str(file_of(name)), "--check", "--machine", SERVER]
    with tempfile.TemporaryDirectory() as folder:
        words += ["--hosts", str(hosts.unconnected(Path(folder), "node", "guest"))]
        done = process.run([*_AFERIR, *words], timeout_s=_CHECK_S, check=False)
    return [_all_or_nothing(f"check.{name}", "files", 1, done)]


def _all_or_nothing(name: str, unit: str, n: int, done: process.Completed) -> Figure:
    """Figure that is `n` if the command succeeded, and 0 with its last lines if it failed."""
    ok = done.exit_code == 0
    return Figure(
        name=name,
        value=float(n if ok else 0),
        unit=unit,
        n=n,
        target=f"== {n}",
        holds=ok,
        note="" if ok else process.explain_exit(done),
    )


def _run(figure: str, name: str, _options: BenchOptions, note: Note) -> Sequence[Figure]:
    """Run one file, or take its complete run; nothing of it may be left on the machine.

    A complete run with a cell that failed is made again.
    """
    done = finished(RUNS, name)
    if done is not None and (figures := figures_of(figure, done))[0].holds:
        note(f"{name} is done: {done.folder}", 0.0)
        return figures
    note(f"running {name}", 0.0)
    words = ["run", str(file_of(name)), "--runs", str(RUNS.resolve())]
    with own_state() as own:
        try:
            ran = _on_hosts(name, words, own) if over_hosts(name) else (_to_its_end(words), [])
        except AferirError as error:
            ran = error.message, []
        why, left = ran
        judged = judge_leftovers(f"{figure}.left_behind", [*left, *leftovers(own)], 1)
    done = finished(RUNS, name)
    if done is None:
        return [incomplete(figure, why), judged]
    return [*figures_of(figure, done), judged]


def _on_hosts(name: str, words: Sequence[str], own: Path) -> tuple[str, list[str]]:
    """Run aferir with hosts that are containers; returns its end, and what they left.

    Images are made before: hosts share those of this machine, and reach no archive of packages.
    Errors: ProgramError, MissingError.
    """
    with hosts.connected(own) as file:
        plan = parse(
            with_hosts(file_of(name).read_bytes(), file.read_bytes(), source=str(file)),
            machine.host_limits(),
            all_programs(),
            kinds(),
        )
        for spec in plan.environments:
            by_kind(spec.kind).prepare(spec.packages)
        why = _to_its_end([*words, "--hosts", str(file)])
        return why, [one for state in hosts.states(own) for one in leftovers(state)]


def _to_its_end(words: Sequence[str]) -> str:
    """Run aferir in the clone, which has the files that experiments name; returns its end."""
    line = [*_AFERIR, *words]
    try:
        done = process.run(line, timeout_s=_RUN_S, directory=FOLDER.parent, check=False)
    except TimeoutExpired as error:
        return error.message
    return process.explain_exit(done)
