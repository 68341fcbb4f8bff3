"""Volume of an instance's input and output at three levels, and the CPU time used.

The levels are: requests by system calls; what these fetched from storage, or dirtied in the page
cache; what reached block devices. Sources: proc(5), /proc/PID/io, which includes that of children
that were waited for; Documentation/admin-guide/cgroup-v1/blkio-controller.
"""

from __future__ import annotations

import os

import msgspec

from aferir.model.record import Sample, Side
from aferir.probes.base import Snapshot, of_tenant

PROCESS_IO = "process:io"
CHILDREN_IO = "children:io"
PARENT_IO = "/proc/PPID/io"
"""Path, in a guest, of the counters of the reading program's parent, which include earlier
programs.
"""
_PROCESS = "process:stat"
PROCESSORS = "process:processors"
_CHILDREN = "children:rusage"
_CGROUP_V1 = (
    *("cgroup:cpuacct/cpuacct.usage", "cgroup:cpuacct/cpuacct.usage_user"),
    "cgroup:cpuacct/cpuacct.usage_sys",
)
_CGROUP_V2 = "cgroup:unified/cpu.stat"
_BLKIO = (
    "cgroup:blkio/blkio.throttle.io_service_bytes_recursive",
    "cgroup:blkio/blkio.throttle.io_serviced_recursive",
)
_VMSTAT = "/proc/vmstat"
_STAT = "/proc/stat"
_KIB = 1024
_IO_FIELDS = {
    "rchar": ("program_read_bytes", "B"),
    "wchar": ("program_write_bytes", "B"),
    "syscr": ("program_read_calls", "operations"),
    "syscw": ("program_write_calls", "operations"),
    "read_bytes": ("cache_read_bytes", "B"),
    "write_bytes": ("cache_write_bytes", "B"),
}
_PAGED = {"pgpgin": "paged_in_bytes", "pgpgout": "paged_out_bytes"}


class Spent(msgspec.Struct, frozen=True):
    """CPU seconds by mode."""

    user_s: float = 0.0
    system_s: float = 0.0
    guest_s: float = 0.0
    """Seconds in guest mode, which are not included in `user_s`."""

    @property
    def total_s(self) -> float:
        """Sum of all modes in seconds."""
        return self.user_s + self.system_s + self.guest_s

    def since(self, before: Spent) -> Spent:
        """CPU seconds since an earlier reading; a mode that decreased counts as 0."""
        return Spent(
            max(0.0, self.user_s - before.user_s),
            max(0.0, self.system_s - before.system_s),
            max(0.0, self.guest_s - before.guest_s),
        )


def parse_io(text: str) -> dict[str, int]:
    """Sum of the counters of one or several /proc/PID/io."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon and value.strip().isdecimal():
            found[name] = found.get(name, 0) + int(value)
    return found


def parse_stat(text: str, ticks_per_s: int) -> Spent:
    """Sum of utime, stime and guest_time of processes, one line of /proc/PID/stat each (proc(5)).

    utime includes guest_time.
    """
    rows = [line.rpartition(")")[2].split() for line in text.splitlines()]
    rows = [row for row in rows if len(row) > 40]
    user, system, guest = (sum(int(row[place]) for row in rows) for place in (11, 12, 40))
    return Spent((user - guest) / ticks_per_s, system / ticks_per_s, guest / ticks_per_s)


def spent(snapshot: Snapshot, ticks_per_s: int) -> Spent | None:
    """CPU time that the instance has used so far, from the most precise account available.

    A control group of version 1 has an exact sum, and parts in ticks, which are scaled to it, as
    the kernel does for processes and for version 2. An emulator's own process takes precedence over
    its group, because only it separates the guest's time: the kernel's guest time, or, for an
    emulated guest without such, the user time of the threads that represent its CPUs.
    """
    process = snapshot.get(_PROCESS, "")
    if process and "qemu" in process:
        return _of_emulator(process, snapshot.get(PROCESSORS, ""), ticks_per_s)
    values = [snapshot.get(path, "").strip() for path in _CGROUP_V1]
    if all(value.isdecimal() for value in values):
        total, user, system = (int(value) / 1e9 for value in values)
        share = user / (user + system) if user + system > 0 else 1.0
        return Spent(total * share, total * (1 - share))
    lines = (line.split() for line in snapshot.get(_CGROUP_V2, "").splitlines())
    usage = {line[0]: int(line[1]) / 1e6 for line in lines if len(line) == 2}
    if {"user_usec", "system_usec"} <= usage.keys():
        return Spent(usage["user_usec"], usage["system_usec"])
    if process:
        return parse_stat(process, ticks_per_s)
    if snapshot.get(_CHILDREN):
        user, system = map(float, snapshot[_CHILDREN].split())
        return Spent(user, system)
    return None


def _of_emulator(process: str, processors: str, ticks_per_s: int) -> Spent:
    whole = parse_stat(process, ticks_per_s)
    if whole.guest_s > 0:
        return whole
    emulated = parse_stat(processors, ticks_per_s).user_s
    return Spent(max(0.0, whole.user_s - emulated), whole.system_s, emulated)


def parse_blkio(text: str) -> dict[str, int]:
    """Read and Write of all devices, from a file of the blkio controller of version 1."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        fields = line.split()
        if len(fields) == 3 and fields[1] in ("Read", "Write") and fields[2].isdecimal():
            found[fields[1]] = found.get(fields[1], 0) + int(fields[2])
    return found


class IoProbe:
    """Volume and operations by level, and user, system and guest time of the instance."""

    name = "io"

    def paths(self, side: Side) -> tuple[str, ...]:
        """The instance's counters on the host; within a guest, the counters of the program.

        For the side `instance` a guest's counters on the host are read too, over the same time.
        """
        if side == "instance":
            return (PARENT_IO, _STAT, _PROCESS, PROCESSORS)
        processes = (PROCESS_IO, CHILDREN_IO, _PROCESS, PROCESSORS, _CHILDREN)
        return (*processes, *_CGROUP_V1, _CGROUP_V2, *_BLKIO, _VMSTAT)

    def samples(
        self, before: Snapshot, after: Snapshot, elapsed_s: float, side: Side
    ) -> tuple[Sample, ...]:
        """I/O: `program_*`, `cache_*` and `storage_*` of the instance, `paged_*` of the host.

        CPU time of the instance: `instance_*_s`.
        """
        if side == "instance":
            inside = (*_volumes(before, after, (PARENT_IO,), side), *_guest_time(before, after))
            return (*inside, *_instance_time(before, after, side)) if inside else ()
        own: tuple[str, ...] = (CHILDREN_IO, PROCESS_IO)
        if "qemu" in before.get(_PROCESS, ""):
            own = (PROCESS_IO,)
        return (
            *_volumes(before, after, own, side),
            *_storage(before, after, side),
            *_paged(before, after, side),
            *_instance_time(before, after, side),
        )


def _volumes(before: Snapshot, after: Snapshot, paths: tuple[str, ...], side: Side) -> list[Sample]:
    first = parse_io("\n".join(before.get(path, "") for path in paths))
    last = parse_io("\n".join(after.get(path, "") for path in paths))
    return [
        Sample(metric, float(max(0, last[field] - first[field])), unit, side)
        for field, (metric, unit) in _IO_FIELDS.items()
        if field in first and field in last
    ]


def _storage(before: Snapshot, after: Snapshot, side: Side) -> list[Sample]:
    found = []
    for path, what, unit in zip(_BLKIO, ("bytes", "operations"), ("B", "operations"), strict=True):
        if path in before and path in after:
            first, last = parse_blkio(before[path]), parse_blkio(after[path])
            found += [
                Sample(
                    f"storage_{word.lower()}_{what}",
                    float(last.get(word, 0) - first.get(word, 0)),
                    unit,
                    side,
                )
                for word in ("Read", "Write")
            ]
    return found


def _paged(before: Snapshot, after: Snapshot, side: Side) -> list[Sample]:
    """Pages in and out by pgpgin and pgpgout, which are in KiB (mm/vmstat.c, block/blk-core.c)."""
    counters = [
        {
            name: int(value)
            for name, _, value in (
                line.partition(" ") for line in snapshot.get(_VMSTAT, "").splitlines()
            )
            if name in _PAGED and value.isdecimal()
        }
        for snapshot in (before, after)
    ]
    first, last = counters
    return [
        Sample(metric, float((last[name] - first[name]) * _KIB), "B", side)
        for name, metric in _PAGED.items()
        if name in first and name in last
    ]


def _instance_time(before: Snapshot, after: Snapshot, side: Side) -> list[Sample]:
    ticks = os.sysconf("SC_CLK_TCK")
    first, last = spent(before, ticks), spent(after, ticks)
    if first is None or last is None:
        return []
    used = last.since(first)
    found = [
        Sample("instance_user_s", used.user_s, "s", side),
        Sample("instance_system_s", used.system_s, "s", side),
    ]
    if "qemu" in after.get(_PROCESS, ""):
        found.append(Sample("instance_guest_s", used.guest_s, "s", side))
    return found


def _guest_time(before: Snapshot, after: Snapshot) -> list[Sample]:
    """CPU seconds of all tenants' guests, from the ticks in their /proc/stat (proc(5))."""
    ticks = os.sysconf("SC_CLK_TCK")
    user = system = 0.0
    number = 1
    while (path := of_tenant(_STAT, number)) in after:
        first, last = (s.get(path, "").split("\n", 1)[0].split() for s in (before, after))
        if len(first) < 9 or len(last) < 9:
            return []
        used = [max(0, int(b) - int(a)) / ticks for a, b in zip(first[1:9], last[1:9], strict=True)]
        user += used[0] + used[1]
        system += used[2] + used[5] + used[6]
        number += 1
    if number == 1:
        return []
    return [
        Sample("guest_user_s", user, "s", "instance"),
        Sample("guest_system_s", system, "s", "instance"),
    ]
