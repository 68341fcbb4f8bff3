"""CPU time by state; the shares add up to 100 %."""

from __future__ import annotations

from aferir.model.record import Sample, Side
from aferir.probes.base import Snapshot

STATES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
"""Columns of the `cpu` line of /proc/stat, in order (proc(5)). `user` includes guest time and
`nice` guest-nice time, so the two columns that follow are not added again."""


def parse_cpu_ticks(text: str) -> tuple[int, ...] | None:
    """Ticks in each of STATES summed over all CPUs; None if the text is not /proc/stat."""
    for line in text.splitlines():
        fields = line.split()
        if fields and fields[0] == "cpu" and len(fields) > len(STATES):
            values = fields[1 : len(STATES) + 1]
            return tuple(map(int, values)) if all(v.isdecimal() for v in values) else None
    return None


def split_percent(before: tuple[int, ...], after: tuple[int, ...]) -> tuple[float, ...] | None:
    """Share of each state in percent, adding up to 100; None if no tick has passed.

    `iowait` and `steal` may decrease (proc(5)); a negative difference counts as zero.
    """
    ticks = [max(0, b - a) for a, b in zip(before, after, strict=True)]
    total = sum(ticks)
    return tuple(100.0 * value / total for value in ticks) if total else None


class CpuProbe:
    """CPU time by state of the whole host, or of a guest with a kernel of its own."""

    name = "cpu"

    def paths(self, side: Side) -> tuple[str, ...]:
        """/proc/stat, and in a guest or container also the CPU counters of its control group."""
        return ("/proc/stat",) if side == "host" else ("/proc/stat", *_CGROUP)

    def samples(
        self, before: Snapshot, after: Snapshot, elapsed_s: float, side: Side
    ) -> tuple[Sample, ...]:
        """`cpu_<state>_percent`, adding up to 100, or user and system seconds of a container."""
        if "/proc/stat" not in before or "/proc/stat" not in after:
            return _from_cgroup(before, after, side)
        first, last = parse_cpu_ticks(before["/proc/stat"]), parse_cpu_ticks(after["/proc/stat"])
        if first is None or last is None:
            return ()
        shares = split_percent(first, last)
        if shares is None:
            return ()
        return tuple(
            Sample(f"cpu_{state}_percent", share, "%", side)
            for state, share in zip(STATES, shares, strict=True)
        )


_CGROUP = (
    "cgroup:cpuacct/cpuacct.usage_user",
    "cgroup:cpuacct/cpuacct.usage_sys",
    "cgroup:cpu/cpu.stat",
    "cgroup:unified/cpu.stat",
)


def _from_cgroup(before: Snapshot, after: Snapshot, side: Side) -> tuple[Sample, ...]:
    first, last = _cgroup_seconds(before), _cgroup_seconds(after)
    return tuple(
        Sample(metric, last[metric] - first[metric], "s", side)
        for metric in first
        if metric in last
    )


def _cgroup_seconds(snapshot: Snapshot) -> dict[str, float]:
    """CPU seconds and throttled seconds, from either version of control groups."""
    found: dict[str, float] = {}
    for path, metric in zip(_CGROUP[:2], ("cpu_user_s", "cpu_system_s"), strict=True):
        if snapshot.get(path, "").strip().isdecimal():
            found[metric] = int(snapshot[path]) / 1e9
    names = {
        "user_usec": ("cpu_user_s", 1e6),
        "system_usec": ("cpu_system_s", 1e6),
        "throttled_usec": ("cpu_throttled_s", 1e6),
        "throttled_time": ("cpu_throttled_s", 1e9),
    }
    for path in _CGROUP[2:]:
        for line in snapshot.get(path, "").splitlines():
            key, _, value = line.partition(" ")
            if key in names and value.isdecimal():
                metric, scale = names[key]
                found[metric] = int(value) / scale
    return found
