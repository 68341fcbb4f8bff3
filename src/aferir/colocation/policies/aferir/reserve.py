"""Reservations for the critical threads, if the kernel admits useful ones.

A thread that has used its runtime Q waits for the rest of the period T, however idle the machine is
(constant bandwidth server: Abeni and Buttazzo 1998; kernel documentation,
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
from aferir.colocation.settings import Schedule, ServiceState, State

_TICK_S = 0.004
"""Tick of a kernel with HZ = 250."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Reservations that could be made now; there are none if they would do harm."""

    shares: Mapping[int, float] = MappingProxyType({})
    """CPUs that are reserved for each thread (tid)."""
    periods: Mapping[int, float] = MappingProxyType({})
    """Period in seconds of each thread (tid): that of its service."""
    whole: bool = False
    """Whether every worker gets nearly a whole CPU, so that it is rarely throttled."""

    def schedules(self) -> dict[int, Schedule]:
        """Schedules of the threads; they may also use what other reservations leave (GRUB)."""
        made: dict[int, Schedule] = {}
        for period_s in sorted(set(self.periods.values())):
            alike = {tid: self.shares[tid] for tid, one in self.periods.items() if one == period_s}
            made |= scheduled(alike, period_s=period_s, reclaim=True)
        return made

    def workers(self) -> list[int]:
        """Threads (tid) that have more than half of the largest reservation."""
        large = max(self.shares.values(), default=0.0)
        return sorted(tid for tid, share in self.shares.items() if share > large / 2)


def plan(state: State, signals: Signals, chosen: Parameters) -> Plan:
    """Plan reservations for all critical threads of all services together.

    Any thread of a pool may take the next request, so all get the same share; only one that uses
    almost nothing, such as a master process, gets almost nothing. If one of the services has no
    critical threads, or no use for reservations, none are made at all: reservations of another
    service would outrank it.
    """
    little = {tid for one in state.each for tid in _little(one, signals, chosen)}
    wanted = [
        Reservation(tid, chosen.least_share if tid in little else 1.0) for tid in signals.threads
    ]
    found = shares(wanted, state.reservable_cpus)
    least = min((share for tid, share in found.items() if tid not in little), default=0.0)
    if least <= 0:
        return Plan()
    whole = least >= chosen.free
    periods: dict[int, float] = {}
    for one in state.each:
        tids = _tids(one)
        if whole:
            period_s = _whole_period_s(one.sla.bound_s, least, chosen)
        else:
            now = (state.now.threads.get(tid) for tid in tids)
            reserved = any(held is not None and held.policy == "deadline" for held in now)
            period_s = _period_s(one, signals, least, chosen, reserved=reserved)
        if not tids or period_s <= 0:
            return Plan()
        periods |= dict.fromkeys(tids, period_s)
    return Plan(shares=found, periods=periods, whole=whole)


def _tids(one: ServiceState) -> list[int]:
    return [thread.tid for thread in one.threads]


def _little(one: ServiceState, signals: Signals, chosen: Parameters) -> list[int]:
    """Threads whose CPU use is negligible beside the mean per critical thread of the service."""
    used = {tid: signals.threads[tid] for tid in _tids(one)}
    mean = sum(used.values()) / max(len(used), 1)
    return [tid for tid, cpus in used.items() if cpus < chosen.least_share * mean]


def _whole_period_s(bound_s: float, least: float, chosen: Parameters) -> float:
    """Period in seconds of reservations of nearly whole CPUs.

    A thread may keep others off its CPU for a whole period, so the period is short enough for
    interactive users.
    """
    far_s = min(chosen.near / (1 - least), 1.0) * bound_s / 4
    tick_s = min(_TICK_S / least, bound_s / 2)
    return max(min(far_s, chosen.responsive_s), tick_s)


def _period_s(
    one: ServiceState, signals: Signals, least: float, chosen: Parameters, *, reserved: bool
) -> float:
    """Period in seconds of smaller reservations; 0 if a request would wait for several periods.

    `reserved`: the service has reservations now, so that it keeps them even if its requests have
    become somewhat longer.
    """
    bound_s = one.sla.bound_s
    period_s = max(chosen.near / 4 * bound_s, _TICK_S / least)
    used = sum(signals.threads[tid] for tid in _tids(one))
    request_s = used / one.rate if one.rate > 0 else 0.0
    most_s = bound_s * (3 / 4 if reserved else 1 / 2)  # hysteresis
    return 0.0 if period_s > bound_s / 4 or 3 * request_s / least > most_s else period_s
