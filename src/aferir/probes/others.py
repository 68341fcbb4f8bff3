"""CPU use by the rest of the machine during a run, which disturbs its figures."""

from __future__ import annotations

import os

from aferir.model.record import Sample, Side
from aferir.probes.base import Snapshot
from aferir.probes.cpu import STATES, parse_cpu_ticks

_CGROUP = ("cgroup:cpuacct/cpuacct.usage", "cgroup:unified/cpu.stat")
_PROCESS = "process:stat"
_CHILDREN = "children:rusage"
_IDLE = ("idle", "iowait")


def own_seconds(snapshot: Snapshot, ticks_per_s: int) -> float | None:
    """CPU seconds that the instance has used so far, from the most precise account available.

    A control group counts in nanoseconds (v1) or microseconds (v2); an emulator's process in ticks,
    fields 14 and 15 of its stat line; for a native program, the use of ended children is counted.
    """
    if snapshot.get(_CGROUP[0], "").strip().isdecimal():
        return int(snapshot[_CGROUP[0]]) / 1e9
    for line in snapshot.get(_CGROUP[1], "").splitlines():
        if line.startswith("usage_usec "):
            return int(line.split()[1]) / 1e6
    if snapshot.get(_PROCESS):
        rows = [line.rpartition(")")[2].split() for line in snapshot[_PROCESS].splitlines()]
        return sum(int(row[11]) + int(row[12]) for row in rows if len(row) > 12) / ticks_per_s
    if snapshot.get(_CHILDREN):
        return sum(map(float, snapshot[_CHILDREN].split()))
    return None


def load_of_others(
    before: Snapshot, after: Snapshot, elapsed_s: float, ticks_per_s: int
) -> float | None:
    """Mean number of CPUs that others kept busy, including steal; None if unknown.

    Steal is use by others that the host cannot see: another guest of the same machine.
    """
    ticks = [parse_cpu_ticks(snapshot.get("/proc/stat", "")) for snapshot in (before, after)]
    own = [own_seconds(snapshot, ticks_per_s) for snapshot in (before, after)]
    if ticks[0] is None or ticks[1] is None or own[0] is None or own[1] is None:
        return None
    busy = sum(
        max(0, b - a)
        for state, a, b in zip(STATES, ticks[0], ticks[1], strict=True)
        if state not in _IDLE
    )
    return max(0.0, (busy / ticks_per_s - (own[1] - own[0])) / elapsed_s)


class OthersProbe:
    """CPU use by everything except the instance, as seen from the host."""

    name = "others"

    def paths(self, side: Side) -> tuple[str, ...]:
        """The host's counters, and every account of the instance's own use."""
        return ("/proc/stat", *_CGROUP, _PROCESS, _CHILDREN) if side == "host" else ()

    def samples(
        self, before: Snapshot, after: Snapshot, elapsed_s: float, side: Side
    ) -> tuple[Sample, ...]:
        """`load_of_others_cpus`: 0 on an idle machine, 1 if one CPU was busy all the time."""
        if side != "host" or elapsed_s <= 0:
            return ()
        load = load_of_others(before, after, elapsed_s, os.sysconf("SC_CLK_TCK"))
        return () if load is None else (Sample("load_of_others_cpus", load, "CPUs", side),)
