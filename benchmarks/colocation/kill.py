"""SIGKILL controller, guard, service or batch program at random moments of a co-location.

Afterwards everything must be as before within a second: scheduling attributes and CPUs of every
thread of the service, control groups, and the kernel's account of deadline bandwidth.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec

from aferir.colocation import admission, attributes, remembered, service
from aferir.errors import MissingError, ProgramError
from aferir.linux import cgroup, journal, process, scratch
from aferir.model.bench import Figure
from aferir.selftest.options import Note

Victim = Literal["controller", "guard", "service", "batch", "both"]
VICTIMS: tuple[Victim, ...] = ("controller", "guard", "service", "batch", "both")
"""Processes to kill; `both` is controller and guard at once, after which `aferir clean` is run."""
POLICIES = ("deadline", "fifo", "service-nice", "cpuset", "aferir")
WITHIN_S = 1.0
_TRIALS = 100
_QUICK_TRIALS = 10
_LONGEST_S = 1.0
_LOW = 0.5
"""Share of the trials whose service is in a control group of low weight."""
_BEGUN = 0.75
"""Share of the kills that come while the batch program runs; the others may come at the start."""
_POLL_S = 0.005
_SERVICE = """
import threading, time
def work():
    while True:
        time.sleep(0.005)
        if threading.active_count() < 8:
            threading.Thread(target=time.sleep, args=(0.03,)).start()
for _ in range(4):
    threading.Thread(target=work).start()
print("ready", flush=True)
"""
"""Source of a service with four lasting threads, and short-lived ones that inherit attributes."""


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """Outcome of one SIGKILL."""

    victim: Victim
    policy: str
    restored_s: float | None
    """Seconds until everything was as before; None: it never was."""
    different: tuple[str, ...] = ()
    """Settings that still differed at the end of the trial."""
    service_stopped: bool = False
    """Whether the service stopped although it was not the process to be killed."""


def figures(seed: int, note: Note, *, quick: bool) -> list[Figure]:
    """Return the figures of 100 kills (10 when `quick`), with the victims in turn."""
    draw = random.Random(seed)  # noqa: S311 - not cryptography
    trials = []
    count = _QUICK_TRIALS if quick else _TRIALS
    for number in range(count):
        victim = VICTIMS[number % len(VICTIMS)]
        note(f"SIGKILL of the {victim}", number / count)
        begun = draw.random() < _BEGUN
        trials.append(trial(victim, draw.choice(POLICIES), draw, begun=begun))
    return summary(trials)


def summary(trials: Sequence[Trial]) -> list[Figure]:
    """Summarise the longest time to restore by victim, what stayed, and stopped services."""
    found = []
    for victim in VICTIMS:
        own = [trial for trial in trials if trial.victim == victim]
        times = [trial.restored_s for trial in own if trial.restored_s is not None]
        lost = [f"{t.policy}: {', '.join(t.different)}" for t in own if t.restored_s is None]
        found.append(
            Figure(
                name=f"kill.{victim}.restored",
                value=max(times, default=None),
                unit="s",
                n=len(own),
                target="by aferir clean" if victim == "both" else f"<= {WITHIN_S:g}, the longest",
                holds=_holds(victim, times, lost) if own else None,
                note="; ".join(lost) or f"median {_median(times):.3f} s",
            )
        )
    stopped = sum(trial.service_stopped for trial in trials)
    found.append(
        Figure(
            name="kill.services_stopped",
            value=stopped,
            unit="services",
            n=len(trials),
            target="= 0",
            holds=stopped == 0,
        )
    )
    return found


def _holds(victim: Victim, times: Sequence[float], lost: Sequence[str]) -> bool:
    return not lost and (victim == "both" or max(times) <= WITHIN_S)


class Patience(msgspec.Struct, frozen=True):
    """Longest waits in seconds; None: as long as it takes, for tests."""

    starting_s: float | None = 30.0
    """Longest wait for guard and batch program to start, and for `aferir clean` to end."""
    restoring_s: float | None = 10.0
    """Longest wait from the kill until everything is as before."""


_BENCH = Patience()


def trial(
    victim: Victim,
    policy: str,
    draw: random.Random,
    *,
    begun: bool,
    patience: Patience = _BENCH,
) -> Trial:
    """Run one co-location; send one SIGKILL at a random moment, or while it runs (`begun`).

    Errors: MissingError without the privileges.
    """
    low = draw.random() < _LOW
    with scratch.folder() as folder, _group(low=low) as group, _service(group) as served:
        (folder / "answers").touch()
        before = _Before(served)
        controller = _start(served.pid, policy, folder / "answers")
        try:
            if begun:
                _choose("batch", served, controller, patience)
            pids = _choose(victim, served, controller, patience)
            time.sleep(draw.uniform(0, _LONGEST_S))
            before.different(controller.pid)  # it sees which control groups there are
            started = time.monotonic()
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
            if victim == "service":
                served.wait()
            elif victim == "guard":
                started = _end_under_another(controller, pids[0], patience)
            elif victim == "both":
                controller.wait()
                _clean(patience)
            restored_s, different = _wait_restored(before, controller.pid, started, patience)
            return Trial(
                victim=victim,
                policy=policy,
                restored_s=restored_s,
                different=different,
                service_stopped=victim != "service" and served.poll() is not None,
            )
        finally:
            process.end(controller)
            _clean(patience)  # nothing, unless the trial failed


class _Before:
    """State before the co-location, against which the present state is compared."""

    def __init__(self, served: subprocess.Popen[str]) -> None:
        self._pid = served.pid
        self._threads = [
            found
            for tid in service.threads((served.pid,))
            if (found := attributes.find(served.pid, tid)) is not None
        ]
        self._bandwidth = admission.sound_bandwidth()
        self._names: set[str] = set()

    def different(self, controller: int) -> tuple[str, ...]:
        """Describe what differs from the state before."""
        entries = _entries(controller)
        self._names |= {f"aferir-{entry}" for entry in entries}
        return (
            *self._of_threads(),
            *(["deadline bandwidth"] if self._leaks() else []),
            *(f"control group {path}" for path in groups_everywhere(self._names)),
            *(f"journal entry {entry}" for entry in entries),
        )

    def _of_threads(self) -> Iterator[str]:
        first = self._threads[0]
        usual = (first.attributes, first.cpus)
        for tid in service.threads((self._pid,)):
            now = attributes.find(self._pid, tid)
            if now is not None and (now.attributes, now.cpus) != usual:
                yield f"thread {tid}"

    def _leaks(self) -> bool:
        return self._bandwidth is not None and admission.more_than(self._bandwidth) > 0


@contextmanager
def _group(*, low: bool) -> Iterator[list[Path]]:
    """Make a control group of low weight if `low`; the batch's group is then made within it."""
    have = cgroup.layout()
    root = have.v1.get("cpu") or have.v2
    if not low or root is None:
        yield []
        return
    entry = journal.write("cgroup", {})
    folder = root / f"aferir-{entry.id}"
    try:
        folder.mkdir()
        # A twentieth: with less CPU time, a killed process inside would take long to end.
        file, little = ("cpu.shares", "51") if "cpu" in have.v1 else ("cpu.weight", "5")
        if (folder / file).exists():  # else version 2 does not hand the controller on here
            (folder / file).write_text(little, encoding="ascii")
        yield [folder]
    finally:
        cgroup.remove(folder.name, have)
        journal.erase(entry)


@contextmanager
def _service(groups: Sequence[Path]) -> Iterator[subprocess.Popen[str]]:
    served = process.start([sys.executable, "-c", _SERVICE], stdout=subprocess.PIPE)
    try:
        assert served.stdout is not None
        served.stdout.readline()
        for group in groups:  # only now: within it, it would be long in starting
            (group / "cgroup.procs").write_text(str(served.pid), encoding="ascii")
        yield served
    finally:
        process.end(served, grace_s=0.1)


def _start(pid: int, policy: str, answers: Path) -> subprocess.Popen[str]:
    return process.start(
        [
            *(sys.executable, "-m", "aferir", "colocate", "--service", f"pid:{pid}"),
            *("--sla", "p95=200ms", "--latency", f"json:{answers}#t"),
            *("--threads", ".", "--policy", policy, "--", "sh", "-c", "while :; do :; done"),
        ]
    )


def _choose(
    victim: Victim,
    served: subprocess.Popen[str],
    controller: subprocess.Popen[str],
    patience: Patience,
) -> list[int]:
    """Choose the processes to kill; wait for guard and batch program, but not for others."""
    if victim == "service":
        return [served.pid]
    if victim == "controller":
        return [controller.pid]
    begun_s = time.monotonic()
    while not (found := (_batch if victim == "batch" else _guards)(controller.pid)):
        if controller.poll() is not None:
            raise MissingError(
                "`aferir colocate` does not start here", remedy="run it by hand to see why"
            )
        if _is_over(begun_s, patience.starting_s):
            raise ProgramError(f"no {victim} was there after {patience.starting_s:g} s")
        time.sleep(_POLL_S)
    return [*found[:1], *([controller.pid] if victim == "both" else [])]


def _guards(controller: int) -> list[int]:
    """List the children of the controller that are guards."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        fields = attributes.stat_fields(f"{path}/stat")
        if len(fields) > 1 and fields[0] not in "ZX" and int(fields[1]) == controller:
            words = attributes.read_quickly(f"{path}/cmdline").split("\0")
            found += [int(path.name)] if "guard" in words else []
    return found


def _batch(controller: int) -> list[int]:
    """List the processes in the groups that the controller has journalled."""
    names = {f"aferir-{entry}" for entry in _entries(controller)}
    return sorted({pid for group in groups_everywhere(names) for pid in cgroup.members(group)})


def groups_everywhere(names: set[str]) -> list[Path]:
    """List all groups of these names in every hierarchy, not only where aferir searches."""
    return [
        Path(folder, name)
        for root in (cgroup.layout().roots() if names else ())
        for folder, below, _ in os.walk(root)
        for name in names & set(below)
    ]


def _end_under_another(controller: subprocess.Popen[str], killed: int, patience: Patience) -> float:
    """Wait for a new guard, terminate the controller, and return the time of that in s.

    A controller that has not begun yet ends by itself: it does not begin without a guard.
    """
    begun_s = time.monotonic()
    while controller.poll() is None and not [
        pid for pid in _guards(controller.pid) if pid != killed
    ]:
        if _is_over(begun_s, patience.starting_s):
            raise ProgramError("no guard took the place of the one that was killed")
        time.sleep(_POLL_S)
    controller.send_signal(signal.SIGTERM)
    return time.monotonic()


def _is_over(since_s: float, patience_s: float | None) -> bool:
    return patience_s is not None and time.monotonic() > since_s + patience_s


def _clean(patience: Patience) -> None:
    process.run([sys.executable, "-m", "aferir", "clean"], timeout_s=patience.starting_s)


def _wait_restored(
    before: _Before, controller: int, started: float, patience: Patience
) -> tuple[float | None, tuple[str, ...]]:
    while different := before.different(controller):
        if _is_over(started, patience.restoring_s):
            return None, different
        time.sleep(_POLL_S)
    return time.monotonic() - started, ()


def _entries(controller: int) -> list[str]:
    """List the journal entries of a controller."""
    kind = remembered.KIND
    return [one.id for one in journal.entries() if (one.kind, one.owner_pid) == (kind, controller)]


def _median(times: Sequence[float]) -> float:
    return sorted(times)[len(times) // 2] if times else float("nan")
