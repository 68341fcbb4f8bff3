"""Kill controller, agent, sshd, cable or host at random moments of a run over two real hosts.

The hosts are those of the integration tests: an address, a root file system and an OpenSSH server
of their own on this machine.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from aferir.linux import journal, process, wait
from aferir.model.bench import Figure
from aferir.selftest.options import BenchOptions, Note
from aferir.store import open_run
from tests.integration import real_hosts
from tests.integration.real_hosts import Lab, Machine

_KILLS, _QUICK_KILLS = 20, 5
_REPETITIONS = 2
_CUT_S = 12.0
"""Time in s for which a cable is out: agents believe their controller gone after 8 s."""
_GONE_S = 60.0
_LIMIT_S = 300.0
_AGAIN = 3
_WHOLE = (0, 1)
"""Exit codes of a run that reached its end: 0, or 1 if all repetitions of a cell failed."""
_EXPERIMENT = """
[experiment]
name = "killed"
baseline = "a"
warmup = 0
[stop]
repetitions = {repetitions}
{hosts}
[[environment]]
name = "a"
kind = "native"
host = "a"
cpu_quota = 0.9
[[environment]]
name = "b"
kind = "native"
host = "b"
cpu_quota = 0.9
[[environment]]
name = "both"
kind = "native"
host = "b,a"
cpus = 1
[[workload]]
name = "short"
program = "command"
command = ["sh", "-c", "(exec setsid sleep 86399) & sleep 0.3"]
environments = ["a", "b"]
[[workload]]
name = "sweep"
program = "net-sweep"
most_bytes = "1 KiB"
trials = 1
environments = ["both"]
"""
_CELLS = 3


def kills(options: BenchOptions, note: Note) -> list[Figure]:
    """Kill one thing at a time, run again, and count what is missing, twice there, or left."""
    if os.geteuid() != 0:
        return [Figure(name="kills.left", value=None, unit="things", n=0, note="needs root")]
    count = _QUICK_KILLS if options.quick else _KILLS
    draw = random.Random(options.seed)  # noqa: S311 - not cryptography
    said: list[str] = []
    wrong: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="aferir-bench-kills-") as name:
        folder = Path(name)
        with own_state(folder / "own"), real_hosts.lab(folder, ["a", "b"]) as lab:
            for machine in lab.machines.values():
                machine.boot()
            real_hosts.wait_for(lab, "a", "b")
            file = _written(lab, folder)
            whole_s = _timed(lambda: _run(file, folder / "whole").wait(_LIMIT_S))
            for number, kind in zip(range(count), itertools.cycle(_KINDS), strict=False):
                note(f"kill {number + 1} of {count}: {kind}", number / count)
                found = _once(lab, file, folder / str(number), kind, draw.uniform(0.5, whole_s))
                wrong.update(name for name, _ in found)
                said += [f"{number + 1} ({kind}): {what}" for _, what in found]
    return [
        Figure(
            name=f"kills.{name}",
            value=wrong[name],
            unit="kills",
            n=count,
            target="<= 0",
            holds=wrong[name] == 0,
            note="; ".join(said)[:300] if wrong[name] else f"a whole run takes {whole_s:.0f} s",
        )
        for name in ("incomplete", "left")
    ]


def _once(lab: Lab, file: Path, runs: Path, kind: str, after_s: float) -> list[tuple[str, str]]:
    """Kill once and run again; returns what is wrong, each with a sentence."""
    child = _run(file, runs)
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(after_s)
    _KINDS[kind](lab, child)
    try:
        code = child.wait(_LIMIT_S)
    except subprocess.TimeoutExpired:
        process.end(child)
        return [("incomplete", "the controller does not end")]
    tries = 0
    while code not in _WHOLE and tries < _AGAIN:
        code, tries = _run(file, runs).wait(_LIMIT_S), tries + 1
    return [*_incomplete(runs), *_left(lab)]


def _incomplete(runs: Path) -> list[tuple[str, str]]:
    folders = [one for one in runs.iterdir() if one.is_dir()] if runs.exists() else []
    if len(folders) != 1:
        return [("incomplete", f"there are {len(folders)} runs")]
    folder = folders[0]
    records = [one for one in open_run(folder).records if one.group != "allocation"]
    times = Counter((one.cell, one.repetition) for one in records)
    wrong = [key for key, number in times.items() if number > 1]
    if wrong or len(times) != _CELLS * _REPETITIONS:
        return [("incomplete", f"{len(times)} repetitions, {len(wrong)} of them twice")]
    return []


def _left(lab: Lab) -> list[tuple[str, str]]:
    """Things on the hosts and in the journals once there was time to release them."""
    wait.until(lambda: not _remains(lab), wait.after(_GONE_S), period_s=0.2)
    return [("left", what) for what in _remains(lab)]


def _remains(lab: Lab) -> list[str]:
    found = [f"journal here: {entry.kind}" for entry in journal.orphans()]
    for machine in lab.machines.values():
        found += [f"journal of {machine.name}: {name}" for name in real_hosts.left(machine)]
        for pid in real_hosts.processes_of(machine):
            with contextlib.suppress(OSError):
                line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
                if line and "sshd" not in line:
                    found.append(f"process of {machine.name}: {line[:60]}")
    return found


def _run(file: Path, runs: Path) -> subprocess.Popen[str]:
    line = [sys.executable, "-m", "aferir", "run", str(file), "--runs", str(runs)]
    return process.start(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _timed(act: Callable[[], object]) -> float:
    clock = time.perf_counter()
    act()
    return time.perf_counter() - clock


def _written(lab: Lab, folder: Path) -> Path:
    hosts = "".join(f"[[host]]\nname = '{n}'\nreach = \"{lab.reach(n)}\"\n" for n in "ab")
    path = folder / "killed.toml"
    path.write_text(_EXPERIMENT.format(hosts=hosts, repetitions=_REPETITIONS), encoding="utf-8")
    return path


@contextlib.contextmanager
def own_state(folder: Path) -> Iterator[None]:
    """Keep the journals of this process in `folder` during the block."""
    before = os.environ.get("AFERIR_STATE")
    os.environ["AFERIR_STATE"] = str(folder)
    try:
        yield
    finally:
        os.environ.pop("AFERIR_STATE")
        if before is not None:
            os.environ["AFERIR_STATE"] = before


def _controller(_: Lab, child: subprocess.Popen[str]) -> None:
    child.kill()


def _agent(lab: Lab, _: subprocess.Popen[str]) -> None:
    _kill(lab.machines["b"], b"aferir.hosts.agent")


def _sshd(lab: Lab, _: subprocess.Popen[str]) -> None:
    _kill(lab.machines["b"], b"sshd: root")


def _kill(machine: Machine, wanted: bytes) -> None:
    for pid in real_hosts.processes_of(machine):
        with contextlib.suppress(OSError):
            if wanted in Path(f"/proc/{pid}/cmdline").read_bytes():
                real_hosts.kill(pid)


def _cable(lab: Lab, _: subprocess.Popen[str]) -> None:
    lab.cable("b", "down")
    time.sleep(_CUT_S)
    lab.cable("b", "up")


def _host(lab: Lab, _: subprocess.Popen[str]) -> None:
    lab.machines["b"].off()
    lab.machines["b"].boot()
    real_hosts.wait_for(lab, "b")


_KINDS: Mapping[str, Callable[[Lab, subprocess.Popen[str]], None]] = {
    "controller": _controller,
    "agent": _agent,
    "sshd": _sshd,
    "cable": _cable,
    "host": _host,
}
