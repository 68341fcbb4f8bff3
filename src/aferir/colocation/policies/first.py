"""Scheduling of the service's threads that have no reservation, with SCHED_FIFO where it is safe.

Reservations do not suit a pool with more threads than CPUs: a request would need several periods.
In the fair class, such a thread waits for one CPU while the batch has another, until the kernel
balances the load. So do threads that answers depend on without being critical, such as a garbage
collector. SCHED_FIFO moves a waiting thread at once. It starves other processes, so it is used only
for services with short requests that leave some of their CPU time, while no other process competes.
"""

from __future__ import annotations

import math

from aferir.colocation.policies.seen import Seen
from aferir.colocation.settings import Schedule

_FIFO = Schedule(policy="fifo", priority=1)
_FIRST = -20
_LEAVES, _TAKES = 0.75, 0.84
"""Parts of the service's CPUs: SCHED_FIFO may begin below the first and ends above the second."""
_SHORT_S, _LONG_S = 0.0015, 0.002
"""Seconds for which all CPUs may be busy with requests without a break, on average, for SCHED_FIFO
to begin and to continue. The longest response times of a shell were 13 to 26 times as long
(docs/decisions/pools-before-everybody.md)."""
_NEED_S = 0.01
"""CPU seconds of one request, below which SCHED_FIFO is allowed: a request occupies one CPU for so
long, however many CPUs there are."""
_BEGINS_S = 1.5
"""Seconds for which all conditions must hold before SCHED_FIFO begins."""
_RATE_S = 2.0
"""Seconds over which the rate is measured, and so the window for the CPU use that is divided by
it."""
_JUDGED_S, _WAIT_S, _REFUSED_S = 10.0, 30.0, 60.0
"""Seconds until latency under SCHED_FIFO is judged (its mean is taken over 10 s), and seconds
without SCHED_FIFO after it was late nevertheless, and after the kernel refused it."""


def look(state: Seen, past_s: float, *, load: float, late: bool, free: bool) -> dict[str, float]:
    """Decide whether the whole service runs under SCHED_FIFO (`first`: 1, else 0).

    Also returns what the next decision needs. `load`: smoothed CPUs of the service. `late`: the
    service is at its SLA. `free`: no other process competes, and the service has neither
    reservations nor a batch of few threads beside it. The answer is 0 while the service's threads
    are unknown, because they may turn out to be few enough for reservations.
    """
    memory, now_s = state.memory, state.time_s
    had = memory.get("first", 0.0) > 0
    used = memory.get("first_use", state.service_cpus)
    used += (state.service_cpus - used) * min(1.0, past_s / _RATE_S)
    begun_s = memory.get("first_s", now_s)
    not_before_s = memory.get("first_not_before_s", -math.inf)
    if had and not _is(state):
        not_before_s = now_s + _REFUSED_S
    elif had and late and now_s - begun_s >= _JUDGED_S:
        not_before_s = now_s + _WAIT_S
    sensible = free and bool(state.threads) and not state.batch_ended
    fits = sensible and now_s >= not_before_s and _leaves(state, load, used, had=had)
    begun_s = begun_s if fits else now_s
    return {
        "first": float(fits and now_s - begun_s >= _BEGINS_S),
        "first_s": begun_s,
        "first_use": used,
        "first_not_before_s": not_before_s,
    }


def _leaves(state: Seen, load: float, used: float, *, had: bool) -> bool:
    """Whether a service under SCHED_FIFO leaves other processes enough CPU time.

    In an M/M/m queue, all m CPUs are busy without a break for 1 / (m mu - lambda) on average, where
    1 / mu is the CPU time per answer. A log that contains only slow requests makes the estimate too
    long, which is safe.
    """
    cores = state.service_cores or state.cores
    most, stretch_s = (_TAKES, _LONG_S) if had else (_LEAVES, _SHORT_S)
    if state.reservable_cpus <= 0 or state.rate <= 0 or used >= cores:
        return False
    need_s = used / state.rate
    return load < most * cores and need_s < min(_NEED_S, stretch_s * (cores - used))


def reserved(state: Seen) -> bool:
    """Whether any thread has a reservation now."""
    return any(one.policy == "deadline" for one in state.now.threads.values())


def schedule(nice: int, *, first: bool, competes: bool, urgent: bool) -> Schedule:
    """Schedule of the service's threads that have no reservation.

    `competes`: other processes compete and no reservation is admitted; `urgent`: the SLA was
    violated meanwhile. Nice values have no effect between control groups and sessions (autogroups,
    sched(7)), so SCHED_FIFO is the only remedy then.
    """
    if first or (competes and urgent):
        return _FIFO
    return Schedule(nice=_FIRST if competes else nice)


def _is(state: Seen) -> bool:
    return state.now.service is not None and state.now.service.policy == "fifo"
