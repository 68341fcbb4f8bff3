"""Takes the snapshots that probes compare: of the host, and of instances with their own kernel.

The instance is read first before a run and last after it, so that the host's probes do not count
the cost of reading it. The core frequency is measured outside the interval between the host's
snapshots, since measuring it takes CPU time.
"""

from __future__ import annotations

import math
import resource
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from aferir.environments.base import Accounting, Instance
from aferir.errors import AferirError
from aferir.linux import process
from aferir.measuring.energy import Meter
from aferir.model.host import Price
from aferir.model.record import Sample, Side
from aferir.probes import frequency, stack
from aferir.probes.base import Probe, Snapshot, of_tenant
from aferir.probes.io import CHILDREN_IO, PROCESS_IO, PROCESSORS
from aferir.programs.base import PROGRAM_FOLDER

_CGROUP = "cgroup:"
_PROCESS = "process:stat"
_CHILDREN = "children:rusage"
_MARK = "\x1e"  # ASCII's record separator, which no file in /proc holds
_SCRIPT = (
    r"for f; do case $f in /proc/PPID/*) p=/proc/$PPID/${f#/proc/PPID/};; *) p=$f;; esac; "
    r'[ -r "$p" ] && printf "\036%s\n" "$f" && cat "$p"; done; :'
)
_READ_LIMIT_S = 60.0


class Watch(msgspec.Struct, frozen=True):
    """Selection of what is measured before, during and after each run."""

    probes: tuple[Probe, ...] = ()
    frequency: Path | None = None
    """Program that measures a core's frequency; None: it is not measured."""
    account: Path | None = None
    """Program that accounts for CPU time while a program runs; None: nothing does."""
    meter: Callable[[], Meter] | None = None
    """Makes a meter of the host's power for one run; None: the host has none."""
    price_per_hour: Price | None = None
    """Price of an hour on this host; None: runs have no cost."""
    load_period_s: float | None = None
    """Sampling period in s of the load of each core during a run; None: it is not sampled."""


class Taken(msgspec.Struct, frozen=True):
    """Snapshot of one side, with the time at which it was taken."""

    files: Snapshot
    clock_s: float
    frequency_hz: float | None = None


Pair = dict[Side, Taken]


def take_before(watch: Watch, instance: Instance) -> Pair:
    """Snapshots of both sides, the host's taken last."""
    meter = frequency_inside(watch, instance)  # before the files, which tell of its time too
    inside = read_instance(wanted(watch.probes, "instance"), instance)
    first = Taken(inside, time.perf_counter(), meter)
    here = frequency_here(watch, instance)
    outside = read_host(wanted(watch.probes, "host"), instance.accounting)
    return {"instance": first, "host": Taken(outside, time.perf_counter(), here)}


def take_after(watch: Watch, instance: Instance) -> Pair:
    """Snapshots of both sides, the host's taken first."""
    clock = time.perf_counter()
    outside = read_host(wanted(watch.probes, "host"), instance.accounting)
    host = Taken(outside, clock, frequency_here(watch, instance))
    clock = time.perf_counter()
    files = read_instance(wanted(watch.probes, "instance"), instance)
    return {"host": host, "instance": Taken(files, clock, frequency_inside(watch, instance))}


def compare(watch: Watch, before: Pair, after: Pair) -> tuple[Sample, ...]:
    """Samples that the probes derive from two snapshots; non-finite values are left out."""
    sides: tuple[Side, ...] = ("host", "instance")
    seen = [
        sample
        for side in sides
        for probe in watch.probes
        for sample in probe.samples(
            before[side].files,
            after[side].files,
            after[side].clock_s - before[side].clock_s,
            side,
        )
        if math.isfinite(sample.value)
    ]
    for side in sides:
        seen += frequency.samples(before[side].frequency_hz, after[side].frequency_hz, side)
    return tuple(seen)


def frequency_here(watch: Watch, instance: Instance) -> float | None:
    """Frequency in Hz of a host CPU that the instance may use; None if it is not measured."""
    if watch.frequency is None:
        return None
    line = [str(watch.frequency), *frequency.ARGUMENTS]
    try:
        done = process.run(line, cpus=instance.spec.pin, timeout_s=_READ_LIMIT_S, check=False)
    except AferirError:
        return None
    return frequency.parse(done.stdout)


def frequency_inside(watch: Watch, instance: Instance) -> float | None:
    """Apparent frequency in Hz of a guest's core; None for containers, which use the host's."""
    if watch.frequency is None or not instance.accounting.own_kernel:
        return None
    line = [str(PROGRAM_FOLDER / watch.frequency.name), *frequency.ARGUMENTS]
    try:
        return frequency.parse(instance.run(line, timeout_s=_READ_LIMIT_S, check=False).stdout)
    except AferirError:
        return None


def wanted(probes: Iterable[Probe], side: Side) -> tuple[str, ...]:
    """Paths of all files that the probes read on one side, each once."""
    return tuple(dict.fromkeys(path for probe in probes for path in probe.paths(side)))


def read_host(paths: Sequence[str], accounting: Accounting) -> Snapshot:
    """The host's files and its accounting of the instance, by path."""
    found = {path: _account(path, accounting) for path in paths if not path.startswith("/")}
    found |= {path: _text(Path(path)) for path in paths if path.startswith("/")}
    return {path: text for path, text in found.items() if text is not None}


def read_instance(paths: Sequence[str], instance: Instance) -> Snapshot:
    """The host's accounting of the instance, and the files inside an instance with its own kernel.

    Inside a container /proc shows the host's counters, so only those of the container's own network
    are read, through its first process.
    """
    accounts = tuple(path for path in paths if not path.startswith("/"))
    files = tuple(path for path in paths if path.startswith("/"))
    found = read_host(accounts, instance.accounting)
    if not files:
        return found
    if not instance.accounting.own_kernel:
        return found | _own_network(files, instance.accounting)
    try:
        done = instance.run(
            ["sh", "-c", _SCRIPT, "sh", *files], timeout_s=_READ_LIMIT_S, check=False
        )
    except AferirError:
        return found  # the run that follows will say what is wrong with the instance
    for number, one in enumerate((done, *done.others), start=1):
        files_inside = split_files(one.stdout)
        found |= {of_tenant(path, number): text for path, text in files_inside.items()}
    return found


def split_files(text: str) -> Snapshot:
    """Files by path, from a text in which a mark and the path precede each content."""
    pieces = (piece.partition("\n") for piece in text.split(_MARK)[1:])
    return {path: content for path, _, content in pieces}


def _own_network(paths: Sequence[str], accounting: Accounting) -> Snapshot:
    """Network counters of a container; empty for native instances, which have the host's."""
    found = {
        path: _text(Path(f"/proc/{pid}{path.removeprefix('/proc')}"))
        for pid in accounting.processes[:1]
        for path in paths
        if path.startswith("/proc/net/")
    }
    return {path: text for path, text in found.items() if text is not None}


def _account(path: str, accounting: Accounting) -> str | None:
    if path == _CHILDREN:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return f"{usage.ru_utime} {usage.ru_stime}"
    if path in stack.DESCRIBED:
        return stack.DESCRIBED[path]()
    if path == CHILDREN_IO:
        return _text(Path("/proc/self/io"))
    if path in (_PROCESS, PROCESS_IO):
        name = path.partition(":")[2]
        lines = [_text(Path(f"/proc/{pid}/{name}")) for pid in accounting.processes]
        return _joined(lines)
    if path == PROCESSORS:
        return _joined([_text(file) for file in accounting.processors])
    controller, _, name = path.removeprefix(_CGROUP).partition("/")
    folder = accounting.cgroups.get(controller)
    return _text(folder / name) if folder is not None and path.startswith(_CGROUP) else None


def _joined(texts: Iterable[str | None]) -> str | None:
    known = [text.strip() for text in texts if text]
    return "\n".join(known) if known else None


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
