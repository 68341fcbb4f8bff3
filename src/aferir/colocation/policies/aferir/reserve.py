"""Reservations for the critical threads, where the kernel admits useful ones.

A thread that has used its runtime Q waits for the rest of the period T, however idle the machine
is (constant bandwidth server: Abeni and Buttazzo 1998; kernel documentation,
scheduler/sched-deadline). So T - Q is far below the SLA, and Q at least one tick, as budgets are
charged at ticks.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from aferir.colocation.policies.aferir.signals import Signals
from aferir.colocation.policies.parameters import Parameters
from aferir.colocation.policies.reservation import Reservation, scheduled, shares
from aferir.colocation.settings import Schedule, State

_TICK_S = 0.004
"""Tick of a kernel with HZ = 250."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Reservations that could be made now; none if they would do harm."""

    shares: Mapping[int, float] = MappingProxyType({})
    """CPUs of each thread (tid)."""
    period_s: float = 0.0
    whole: bool = False
    """Every worker gets nearly a whole CPU and is hardly ever throttled."""

    def schedules(self) -> dict[int, Schedule]:
        """Schedules of the threads; they may also use what other reservations leave (GRUB)."""
        return scheduled(self.shares, period_s=self.period_s, reclaim=True)

    def workers(self) -> list[int]:
        """Threads (tid) with one of the large reservations."""
        large = max(self.shares.values(), default=0.0)
        return sorted(tid for tid, share in self.shares.items() if share > large / 2)


def plan(state: State, signals: Signals, chosen: Parameters) -> Plan:
    """Plan reservations for all critical threads together.

    Any thread of a pool may take the next request, so all get the same share; only one that uses
    almost nothing, such as a master process, gets almost nothing.
    """
    used, bound_s = signals.threads, state.sla.bound_s
    mean = sum(used.values()) / max(len(used), 1)
    little = {tid for tid, cpus in used.items() if cpus < chosen.least_share * mean}
    wanted = [Reservation(tid, chosen.least_share if tid in little else 1.0) for tid in used]
    found = shares(wanted, state.reservable_cpus)
    least = min((share for tid, share in found.items() if tid not in little), default=0.0)
    if least <= 0:
        return Plan()
    if least >= chosen.free:
        # Others are kept off these CPUs for a period, so it is short for interactive users too.
        far_s = min(chosen.near / (1 - least), 1.0) * bound_s / 4
        tick_s = min(_TICK_S / least, bound_s / 2)
        period_s = max(min(far_s, chosen.responsive_s), tick_s)
        return Plan(shares=found, period_s=period_s, whole=True)
    period_s = max(chosen.near / 4 * bound_s, _TICK_S / least)
    request_s = sum(used.values()) / state.rate if state.rate > 0 else 0.0
    reserved = any(one.policy == "deadline" for one in state.now.threads.values())
    most_s = bound_s * (3 / 4 if reserved else 1 / 2)  # hysteresis
    if period_s > bound_s / 4 or 3 * request_s / least > most_s:
        return Plan()  # a request would wait for several periods
    return Plan(shares=found, period_s=period_s)
