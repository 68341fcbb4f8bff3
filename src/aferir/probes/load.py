"""Load of each core over a run, and who caused it, from regular snapshots of counters; pure.

Load is the share of time in which a core was busy; steal, and waiting for disks, do not count.
Sources: proc(5), and cpuacct.usage_percpu in the kernel's
Documentation/admin-guide/cgroup-v1/cpuacct.rst.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import msgspec

from aferir.model.record import Series
from aferir.probes.base import Snapshot
from aferir.probes.cpu import STATES

HOST = ("/proc/stat",)
MEMBER = ("cgroup:cpuacct/cpuacct.usage_percpu", "cgroup:unified/cpu.stat", "process:stat")
"""Files with the CPU time of one member, such as a tenant, the most detailed first."""
_IDLE = (STATES.index("idle"), STATES.index("iowait"), STATES.index("steal"))
_TICK_S = 0.01
"""Unit of /proc/PID/stat in seconds: USER_HZ is 100 on all Linux architectures except Alpha."""

Ticks = dict[int, tuple[int, int]]
"""Busy ticks and all ticks of each CPU, by its number."""


class Used(msgspec.Struct, frozen=True):
    """CPU time that one member, such as a tenant, has used so far."""

    seconds: float
    by_core: tuple[float, ...] = ()
    """Seconds by CPU number; () if only the sum is known."""


class Look(msgspec.Struct, frozen=True):
    """A snapshot of the CPU counters, and its time."""

    time_s: float
    cores: Ticks
    members: dict[str, Used] = {}


def core_ticks(text: str) -> Ticks:
    """Ticks of each CPU from /proc/stat; other lines are ignored."""
    found: Ticks = {}
    for line in text.splitlines():
        name, *fields = line.split()[: len(STATES) + 1] or [""]
        number = name.removeprefix("cpu")
        if name.startswith("cpu") and number.isdecimal() and len(fields) == len(STATES):
            if not all(field.isdecimal() for field in fields):
                continue
            ticks = [int(field) for field in fields]
            total = sum(ticks)
            found[int(number)] = (total - sum(ticks[i] for i in _IDLE), total)
    return found


def used(files: Snapshot) -> Used | None:
    """CPU time of a member, from the first file of `MEMBER` that could be read."""
    by_core = files.get(MEMBER[0], "").split()
    if by_core and all(field.isdecimal() for field in by_core):
        seconds = tuple(int(field) / 1e9 for field in by_core)
        return Used(sum(seconds), seconds)
    for line in files.get(MEMBER[1], "").splitlines():
        key, _, value = line.partition(" ")
        if key == "usage_usec" and value.isdecimal():
            return Used(int(value) / 1e6)
    processes = [line.rpartition(")")[2].split() for line in files.get(MEMBER[2], "").splitlines()]
    ticks = [int(f[11]) + int(f[12]) for f in processes if len(f) > 12]
    return Used(sum(ticks) * _TICK_S) if ticks else None


def together(parts: Sequence[Used | None]) -> Used | None:
    """Sum over the nodes of a cluster; None if one of them is unknown."""
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    cores = {len(part.by_core) for part in known}
    by_core = (
        tuple(sum(at) for at in zip(*(part.by_core for part in known), strict=True))
        if len(cores) == 1
        else ()
    )
    return Used(sum(part.seconds for part in known), by_core)


def core_loads(looks: Sequence[Look], cpus: Sequence[int], *, label: str = "CPU") -> list[Series]:
    """`core_load_percent` of `cpus` between consecutive snapshots, over time."""
    pairs = list(itertools.pairwise(looks))
    found = []
    for cpu in cpus:
        values = [
            (after.time_s, percent)
            for before, after in pairs
            if (percent := _load(before.cores.get(cpu), after.cores.get(cpu))) is not None
        ]
        if values:
            found.append(_along_time("core_load_percent", "%", values, f"{label} {cpu}"))
    return found


def _load(before: tuple[int, int] | None, after: tuple[int, int] | None) -> float | None:
    if before is None or after is None or after[1] <= before[1]:
        return None
    busy = max(0, after[0] - before[0])
    return min(100.0, 100.0 * busy / (after[1] - before[1]))


def member_loads(looks: Sequence[Look]) -> list[Series]:
    """`cpu_use_cpus` of each member over time, in CPU seconds per second."""
    found = []
    for name in _members(looks):
        values = [
            (
                after.time_s,
                max(0.0, after.members[name].seconds - before.members[name].seconds)
                / (after.time_s - before.time_s),
            )
            for before, after in itertools.pairwise(looks)
            if after.time_s > before.time_s
        ]
        if values:
            found.append(_along_time("cpu_use_cpus", "CPUs", values, name))
    return found


def mean_loads(looks: Sequence[Look], cpus: Sequence[int]) -> dict[int, float]:
    """Load of each CPU over the whole time, in percent."""
    if len(looks) < 2:
        return {}
    first, last = looks[0].cores, looks[-1].cores
    found = {cpu: _load(first.get(cpu), last.get(cpu)) for cpu in cpus}
    return {cpu: load for cpu, load in found.items() if load is not None}


def shares(looks: Sequence[Look]) -> dict[str, float]:
    """CPU seconds of each member over the whole time."""
    if len(looks) < 2:
        return {}
    first, last = looks[0].members, looks[-1].members
    return {name: max(0.0, last[name].seconds - first[name].seconds) for name in _members(looks)}


def core_shares(looks: Sequence[Look], cpus: Sequence[int]) -> list[Series]:
    """`core_share_percent`: share of each CPU's time that each member used."""
    if len(looks) < 2 or looks[-1].time_s <= looks[0].time_s:
        return []
    elapsed_s = looks[-1].time_s - looks[0].time_s
    found = []
    for name in _members(looks):
        first, last = looks[0].members[name].by_core, looks[-1].members[name].by_core
        known = [cpu for cpu in cpus if cpu < min(len(first), len(last))]
        if known:
            series = Series(
                metric="core_share_percent",
                unit="%",
                values=tuple(100 * (last[cpu] - first[cpu]) / elapsed_s for cpu in known),
                along="core",
                at=tuple(f"CPU {cpu}" for cpu in known),
                label=name,
            )
            found.append(series)
    return found


def _members(looks: Sequence[Look]) -> list[str]:
    """Members that are in every snapshot."""
    first = looks[0].members if looks else {}
    return [name for name in first if all(name in look.members for look in looks)]


def _along_time(
    metric: str, unit: str, values: Sequence[tuple[float, float]], label: str
) -> Series:
    return Series(
        metric=metric,
        unit=unit,
        values=tuple(value for _, value in values),
        along="time_s",
        along_unit="s",
        at=tuple(round(at, 3) for at, _ in values),
        label=label,
    )
