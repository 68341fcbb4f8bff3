"""Memory in use on the host, in a guest, or charged to a container."""

from __future__ import annotations

import os

from aferir.model.record import Sample, Side
from aferir.probes.base import Snapshot

_MERGED = "/sys/kernel/mm/ksm/pages_sharing"
_PAGE = os.sysconf("SC_PAGE_SIZE")
_CGROUP_PATHS = ("cgroup:memory/memory.max_usage_in_bytes", "cgroup:unified/memory.peak")
_KILLS_PATHS = ("cgroup:memory/memory.oom_control", "cgroup:unified/memory.events", "/proc/vmstat")
"""Files with counts of killed processes: of a control group in either version, else of a guest's
kernel."""
KILLS = "memory_kills"
"""Name of the sample: processes of the instance that the kernel killed because memory ran out."""


def parse_meminfo(text: str) -> dict[str, int]:
    """/proc/meminfo in bytes by name; the file's unit is KiB although it says kB (proc(5))."""
    found = {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        fields = rest.split()
        if fields and fields[0].isdecimal():
            found[name] = int(fields[0]) * (1024 if fields[1:] == ["kB"] else 1)
    return found


class MemoryProbe:
    """Memory that is in use at the end of a run, and swapped pages."""

    name = "memory"

    def paths(self, side: Side) -> tuple[str, ...]:
        """The kernel's summary, swap counters, merged pages, and a container's peak."""
        common = ("/proc/meminfo", "/proc/vmstat")
        if side == "host":
            return (*common, _MERGED)
        return (*common, *_CGROUP_PATHS, *_KILLS_PATHS)

    def samples(
        self, before: Snapshot, after: Snapshot, elapsed_s: float, side: Side
    ) -> tuple[Sample, ...]:
        """`memory_used_bytes` at the end, `memory_peak_bytes` of a container, swapped pages.

        `memory_merged_bytes`: memory that the host saved at the end by merging equal pages.
        `memory_kills`, if any.
        """
        found: list[Sample] = []
        memory = parse_meminfo(after.get("/proc/meminfo", ""))
        if "MemTotal" in memory and "MemAvailable" in memory:
            used = memory["MemTotal"] - memory["MemAvailable"]
            found.append(Sample("memory_used_bytes", float(used), "B", side))
        found.extend(
            Sample("memory_peak_bytes", float(after[path]), "B", side)
            for path in _CGROUP_PATHS
            if after.get(path, "").strip().isdecimal()
        )
        merged = after.get(_MERGED, "").strip()
        if merged.isdecimal() and int(merged) > 0:
            found.append(Sample("memory_merged_bytes", float(int(merged) * _PAGE), "B", side))
        first, last = (_swapped(snapshot) for snapshot in (before, after))
        if first is not None and last is not None:
            found.append(Sample("memory_swapped_pages", float(last - first), "pages", side))
        killed = _kills(after) - _kills(before)
        if side == "instance" and killed > 0:
            found.append(Sample(KILLS, float(killed), "processes", side))
        return tuple(found)


def _kills(snapshot: Snapshot) -> int:
    for path in _KILLS_PATHS:
        for line in snapshot.get(path, "").splitlines():
            name, _, value = line.partition(" ")
            if name == "oom_kill" and value.isdecimal():
                return int(value)
    return 0


def _swapped(snapshot: Snapshot) -> int | None:
    counters = dict(
        line.split(maxsplit=1)
        for line in snapshot.get("/proc/vmstat", "").splitlines()
        if line.startswith(("pswpin ", "pswpout "))
    )
    values = [value for value in counters.values() if value.isdecimal()]
    return sum(map(int, values)) if len(values) == 2 else None
