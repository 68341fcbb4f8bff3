"""How the service's threads are scheduled that have no reservation.

A pool of more threads than processors has no use for reservations: a request would wait for
several periods. In the fair class such a thread waits for one processor while the batch has
another, until the kernel looks for balance, and so do those that answers depend on without being
critical, as a collector of garbage. SCHED_FIFO moves a waiting thread at once. It starves others,
so it is for services of short requests that leave some of their processors, where nobody else
works.
"""

from __future__ import annotations

import math

from aferir.colocation.settings import Schedule, State

_FIFO = Schedule(policy="fifo", priority=1)
_FIRST = -20
_LEAVES, _TAKES = 0.75, 0.84
"""Of the service's processors: one that uses less than the first goes before everybody, above the
second no longer."""
_SHORT_S, _LONG_S = 0.0015, 0.002
"""For so long at a stretch, on average, it may have all of them, to be given it and to keep it. A
shell's longest answers were 13 to 26 times as long (docs/decisions/pools-before-everybody.md)."""
_NEED_S = 0.01
"""CPU time of a request, which has one processor for so long however many there are."""
_BEGINS_S = 1.5
"""For so long all of that is to hold before."""
_RATE_S = 2.0
"""Over which the rate is told, and so the use that is divided by it."""
_JUDGED_S, _WAIT_S, _REFUSED_S = 10.0, 30.0, 60.0
"""The quantile's mean over ten seconds is its own by then; for so long it is left to the fair class
where it was late nevertheless, and where the kernel refused SCHED_FIFO."""


def look(state: State, past_s: float, *, load: float, late: bool, free: bool) -> dict[str, float]:
    """`first`: 1 where the whole service is to be under SCHED_FIFO, else 0; and what to remember.

    `load`: its CPUs, smoothed over a moment. `late`: it is at its SLA. `free`: nobody else works,
    and it has neither reservations nor a batch of few threads beside it. Not where its threads are
    not known yet, and few of them may get reservations.
    """
    memory, now_s = state.now.memory, state.time_s
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


def _leaves(state: State, load: float, used: float, *, had: bool) -> bool:
    """Whether others get their turn beside such a service.

    All m processors are busy with requests for 1 / (m mu - lambda) at a stretch, on average, in the
    queue M/M/m whose mean need is the CPU time for each answer. A log that tells of slow requests
    alone makes that too long, which is safe.
    """
    cores = state.service_cores or state.cores
    most, stretch_s = (_TAKES, _LONG_S) if had else (_LEAVES, _SHORT_S)
    if state.reservable_cpus <= 0 or state.rate <= 0 or used >= cores:
        return False
    need_s = used / state.rate
    return load < most * cores and need_s < min(_NEED_S, stretch_s * (cores - used))


def reserved(state: State) -> bool:
    """Whether any thread has a reservation."""
    return any(one.policy == "deadline" for one in state.now.threads.values())


def schedule(nice: int, *, first: bool, competes: bool, urgent: bool) -> Schedule:
    """`competes`: with others, where no reservation is admitted; `urgent`: the SLA is broken then.

    Outweighing others by nice is void between control groups and sessions (autogroups, sched(7)),
    so SCHED_FIFO is what is left.
    """
    if first or (competes and urgent):
        return _FIFO
    return Schedule(nice=_FIRST if competes else nice)


def _is(state: State) -> bool:
    return state.now.service is not None and state.now.service.policy == "fifo"
