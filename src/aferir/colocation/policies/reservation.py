"""An admission plan: reservations for all critical threads at once, as large as the kernel admits.

Asked for one by one, the first threads would get all and the last ones EBUSY.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from aferir.colocation.settings import Schedule

LEAST_S = 1024e-9
"""Shortest runtime (kernel/sched/deadline.c)."""
LONGEST_S = 4.19
"""Longest period: 2^22 us."""
_MOST_SHARE = 0.95
"""Share of one processor: a thread that never sleeps leaves something to others."""
_MARGIN = 0.98
"""Share of what is admitted: rounding, and a thread that is born between two decisions."""


class Reservation(msgspec.Struct, frozen=True):
    """What one thread should have."""

    tid: int
    want: float
    """Relative to the other threads; above 0."""


def shares(wanted: Sequence[Reservation], room_cpus: float) -> dict[int, float]:
    """Processors for each thread: in proportion to what it wants, none more than it can use.

    They fill the room: what is reserved and not used is lost to nobody, since the fair class runs
    then. Empty where there is no room.
    """
    left = room_cpus * _MARGIN
    if left <= 0 or not wanted:
        return {}
    found: dict[int, float] = {}
    rest = sorted(wanted, key=lambda one: (-one.want, one.tid))
    total = sum(one.want for one in rest)
    for one in rest:  # the largest first: what it cannot use is for the smaller ones
        share = min(_MOST_SHARE, left * one.want / total) if total > 0 else 0.0
        found[one.tid] = share
        left -= share
        total -= one.want
    return found


def plan(
    wanted: Sequence[Reservation], room_cpus: float, *, period_s: float, reclaim: bool = False
) -> dict[int, Schedule]:
    """Schedules for all of them that are admitted together.

    See `scheduled`.
    """
    return scheduled(shares(wanted, room_cpus), period_s=period_s, reclaim=reclaim)


def scheduled(
    shared: Mapping[int, float], *, period_s: float, reclaim: bool = False
) -> dict[int, Schedule]:
    """Schedules for threads with these `shares`.

    A thread whose share is too small for the kernel is left out, and stays as it was. A throttled
    thread waits up to period - runtime, so `period_s` has to be far below the SLA.
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
