"""Admission planning: reservations for all critical threads at once, within what the kernel admits.

If they were requested one by one, the first threads would get everything and the last ones EBUSY.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from aferir.colocation.settings import Schedule

LEAST_S = 1024e-9
"""Shortest runtime in s that the kernel accepts for SCHED_DEADLINE (kernel/sched/deadline.c)."""
LONGEST_S = 4.19
"""Longest period in s that the kernel accepts for SCHED_DEADLINE: 2^22 us."""
_MOST_SHARE = 0.95
"""Largest share of one CPU that is reserved, so that a thread that never sleeps leaves some time to
others.
"""
_MARGIN = 0.98
"""Part of the admissible CPUs that is used; the rest covers rounding, and threads that start
meanwhile."""


class Reservation(msgspec.Struct, frozen=True):
    """One thread's request for a part of the CPUs that can be reserved."""

    tid: int
    want: float
    """Weight relative to the other threads' requests; above 0."""


def shares(wanted: Sequence[Reservation], room_cpus: float) -> dict[int, float]:
    """CPUs for each thread, in proportion to its request and at most 0.95 of a CPU each.

    Together they equal the admissible CPUs. Reserved time that is not used is not lost, as the fair
    class runs in it. Empty if nothing is admissible.
    """
    left = room_cpus * _MARGIN
    if left <= 0 or not wanted:
        return {}
    found: dict[int, float] = {}
    rest = sorted(wanted, key=lambda one: (-one.want, one.tid))
    total = sum(one.want for one in rest)
    for one in rest:  # the largest first: what exceeds its limit goes to the smaller ones
        share = min(_MOST_SHARE, left * one.want / total) if total > 0 else 0.0
        found[one.tid] = share
        left -= share
        total -= one.want
    return found


def plan(
    wanted: Sequence[Reservation], room_cpus: float, *, period_s: float, reclaim: bool = False
) -> dict[int, Schedule]:
    """Schedules for all of the given threads, sized so that the kernel admits them together.

    `room_cpus`: CPUs that the kernel admits altogether. See `scheduled` for the other arguments.
    """
    return scheduled(shares(wanted, room_cpus), period_s=period_s, reclaim=reclaim)


def scheduled(
    shared: Mapping[int, float], *, period_s: float, reclaim: bool = False
) -> dict[int, Schedule]:
    """Deadline schedules for threads with the given `shares` of a CPU.

    A thread whose runtime would be too short for the kernel is omitted and stays as it was. A
    throttled thread waits up to period - runtime, so `period_s` must be far below the SLA.
    """
    made = {}
    for tid, share in sorted(shared.items()):
        runtime_s = share * min(period_s, LONGEST_S)
        if runtime_s >= LEAST_S:
            made[tid] = Schedule(
                policy="deadline",
                runtime_s=runtime_s,
                period_s=min(period_s, LONGEST_S),
                reclaim=reclaim,
            )
    return made
