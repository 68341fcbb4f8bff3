"""Measures how long the service waits for processors, memory and disks, by its group's pressure.

Source: Documentation/accounting/psi.rst and cgroup-v2.rst of the kernel. A group of version 2 has
its own pressure even where the controllers are those of version 1. The machine's pressure is not
used instead, since the batch program's own waiting is in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from aferir.colocation import place
from aferir.colocation.attributes import read_quickly
from aferir.colocation.levers import disk, latency, memory
from aferir.colocation.service import ServiceSpec
from aferir.colocation.settings import LEVERS, Lever, Waits
from aferir.colocation.usage import parse_pressure
from aferir.linux.cgroup import Layout

_EVERY_S = 0.45
"""Interval in seconds between two samples, the same as for threads and pressure in
`usage.Watch`."""


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """Counters of the service's and the batch program's groups at one moment."""

    time_s: float
    waited_s: tuple[float, float, float] | None = None
    """Seconds in which some task of the service waited for a processor, for memory, and for a disk.
    """
    disk_bytes: int = 0
    """Bytes that the batch program has read and written."""
    batch_memory_bytes: int = 0
    service_memory_bytes: int = 0


class Used(msgspec.Struct, frozen=True, kw_only=True):
    """Waiting of the service between two moments, and the use of disks and memory meanwhile."""

    waits: Waits | None = None
    """Shares of time in which the service waited; None if it has no group of its own in version 2.
    """
    batch_disk_bps: float = 0.0
    batch_memory_bytes: int = 0
    service_memory_bytes: int = 0


def service_group(spec: ServiceSpec, pids: Sequence[int], have: Layout) -> Path | None:
    """The service's own group of version 2; None if it is in the root, or in several groups."""
    if have.v2 is None:
        return None
    found = {place.own_group(spec, path) for pid in pids if (path := place.group_of_pid(pid, ""))}
    if len(found) != 1:
        return None
    folder = have.v2 / found.pop()
    return folder if folder != have.v2 and folder.is_dir() else None


def count(time_s: float, service: Path | None, batch: dict[str, Path]) -> Counted:
    """Read the counters: 0 if a group lacks one; `waited_s` is None without pressure files."""
    waited = None
    if service is not None and (service / "cpu.pressure").exists():
        some = [
            parse_pressure(read_quickly(str(service / f"{name}.pressure")))
            for name in ("cpu", "memory", "io")
        ]
        waited = (some[0], some[1], some[2])
    own = batch.get("unified")
    return Counted(
        time_s=time_s,
        waited_s=waited,
        disk_bytes=_disk_bytes(batch),
        batch_memory_bytes=_number(own / "memory.current") if own else 0,
        service_memory_bytes=_number(service / "memory.current") if service else 0,
    )


def between(before: Counted, after: Counted) -> Used:
    """Shares of time that the service waited, and rates of disk use, between two moments."""
    seconds = after.time_s - before.time_s
    if seconds <= 0:
        return Used()
    waits = None
    if before.waited_s is not None and after.waited_s is not None:
        pairs = zip(before.waited_s, after.waited_s, strict=True)
        cpu, memory, disk = (min(1.0, max(0.0, new - old) / seconds) for old, new in pairs)
        waits = Waits(cpu=cpu, memory=memory, disk=disk)
    return Used(
        waits=waits,
        batch_disk_bps=max(0, after.disk_bytes - before.disk_bytes) / seconds,
        batch_memory_bytes=after.batch_memory_bytes,
        service_memory_bytes=after.service_memory_bytes,
    )


def parse_disk_bytes(text: str) -> int:
    """Bytes read and written on all devices, from io.stat or blkio.throttle.io_service_bytes."""
    total = 0
    for line in text.splitlines():
        words = line.split()
        total += sum(
            int(w.partition("=")[2]) for w in words if w.startswith(("rbytes=", "wbytes="))
        )
        if len(words) == 3 and words[1] in ("Read", "Write"):
            total += int(words[2])
    return total


def _disk_bytes(batch: dict[str, Path]) -> int:
    if "blkio" in batch:
        file = batch["blkio"] / "blkio.throttle.io_service_bytes_recursive"
    elif "unified" in batch:
        file = batch["unified"] / "io.stat"
    else:
        return 0
    try:
        return parse_disk_bytes(file.read_text(encoding="ascii"))
    except OSError:
        return 0


def _number(path: Path) -> int:
    text = read_quickly(str(path)).strip()
    return int(text) if text.isdecimal() else 0


class Waiting:
    """Samples the service's and the batch program's groups twice a second."""

    def __init__(
        self, service: Path | None, batch: dict[str, Path], *, cache: bool = False
    ) -> None:
        """`cache`: whether the batch's part of the caches can be limited."""
        self._service = service
        self._batch = batch
        self._last: Counted | None = None
        self._used = Used()
        limits = disk.can(batch) and bool(disk.disks())
        found = {
            "memory": memory.can(batch),
            "disk_weight": limits and disk.can_weigh(batch),
            "disk_target": limits and latency.can(batch),
            "disk": limits,
            "cache": cache,
        }
        self.levers: frozenset[Lever] = frozenset(name for name in LEVERS if found[name])
        """Resources that can be limited for the batch."""

    def look(self, time_s: float) -> Used:
        """Return waiting and use in the last whole interval; `time_s` is on a monotonic clock."""
        if self._last is not None and time_s < self._last.time_s + _EVERY_S:
            return self._used
        now = count(time_s, self._service, self._batch)
        if self._last is not None:
            self._used = between(self._last, now)
        self._last = now
        return self._used
