"""Taking the snapshots that probes compare: of the host, and of the instance where it has its own.

The instance is read first before a run and last after it, so that what reading costs inside of it
is not seen by the host's probes.
"""

from __future__ import annotations

import math
import resource
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from aferir.environments.base import Accounting, Instance
from aferir.errors import AferirError
from aferir.model.record import Sample, Side
from aferir.probes.base import Probe, Snapshot

_CGROUP = "cgroup:"
_PROCESS = "process:stat"
_CHILDREN = "children:rusage"
_MARK = "\x1e"  # ASCII's record separator, which no file in /proc holds
_SCRIPT = r'for f; do [ -r "$f" ] && printf "\036%s\n" "$f" && cat "$f"; done; :'
_READ_LIMIT_S = 60.0


class Taken(msgspec.Struct, frozen=True):
    """What one side showed, and when."""

    files: Snapshot
    clock_s: float


Pair = dict[Side, Taken]


def take_before(probes: Sequence[Probe], instance: Instance) -> Pair:
    """Both sides, the host last."""
    inside = read_instance(wanted(probes, "instance"), instance)
    first = Taken(inside, time.perf_counter())
    outside = read_host(wanted(probes, "host"), instance.accounting)
    return {"instance": first, "host": Taken(outside, time.perf_counter())}


def take_after(probes: Sequence[Probe], instance: Instance) -> Pair:
    """Both sides, the host first."""
    clock = time.perf_counter()
    host = Taken(read_host(wanted(probes, "host"), instance.accounting), clock)
    clock = time.perf_counter()
    return {
        "host": host,
        "instance": Taken(read_instance(wanted(probes, "instance"), instance), clock),
    }


def compare(probes: Sequence[Probe], before: Pair, after: Pair) -> tuple[Sample, ...]:
    """What the probes make of two pairs of snapshots; a value that is not finite is left out."""
    sides: tuple[Side, ...] = ("host", "instance")
    return tuple(
        sample
        for side in sides
        for probe in probes
        for sample in probe.samples(
            before[side].files,
            after[side].files,
            after[side].clock_s - before[side].clock_s,
            side,
        )
        if math.isfinite(sample.value)
    )


def wanted(probes: Iterable[Probe], side: Side) -> tuple[str, ...]:
    """Each file once, whichever probes want it."""
    return tuple(dict.fromkeys(path for probe in probes for path in probe.paths(side)))


def read_host(paths: Sequence[str], accounting: Accounting) -> Snapshot:
    """The host's own files, and its accounts of the instance."""
    found = {path: _account(path, accounting) for path in paths if not path.startswith("/")}
    found |= {path: _text(Path(path)) for path in paths if path.startswith("/")}
    return {path: text for path, text in found.items() if text is not None}


def read_instance(paths: Sequence[str], instance: Instance) -> Snapshot:
    """The host's accounts of the instance, and the files inside of one with its own kernel.

    Inside a container /proc shows the host's counters, so they are not read there.
    """
    accounts = tuple(path for path in paths if not path.startswith("/"))
    files = tuple(path for path in paths if path.startswith("/"))
    found = read_host(accounts, instance.accounting)
    if not files or not instance.accounting.own_kernel:
        return found
    try:
        done = instance.run(
            ["sh", "-c", _SCRIPT, "sh", *files], timeout_s=_READ_LIMIT_S, check=False
        )
    except AferirError:
        return found  # the run that follows will say what is wrong with the instance
    return found | split_files(done.stdout)


def split_files(text: str) -> Snapshot:
    """Files by path from one text in which a mark and the path go before each."""
    pieces = (piece.partition("\n") for piece in text.split(_MARK)[1:])
    return {path: content for path, _, content in pieces}


def _account(path: str, accounting: Accounting) -> str | None:
    if path == _CHILDREN:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return f"{usage.ru_utime} {usage.ru_stime}"
    if path == _PROCESS:
        lines = [_text(Path(f"/proc/{pid}/stat")) for pid in accounting.processes]
        known = [line.strip() for line in lines if line]
        return "\n".join(known) if known else None
    controller, _, name = path.removeprefix(_CGROUP).partition("/")
    folder = accounting.cgroups.get(controller)
    return _text(folder / name) if folder is not None and path.startswith(_CGROUP) else None


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
