"""How the service's threads are scheduled that have no reservation.

A pool of more threads than processors has no use for reservations: a request would wait for
several periods. In the fair class such a thread waits for one processor while the batch has
another, until the kernel looks for balance, and so do those that answers depend on without being
critical, as a collector of garbage. SCHED_FIFO moves a waiting thread at once. It starves others,
so it is for services of short requests that leave some of the machine, where nobody else works.
"""

from __future__ import annotations

import math

from aferir.colocation.settings import Schedule, State

_FIFO = Schedule(policy="fifo", priority=1)
_FIRST = -20
_LEAVES, _TAKES = 0.75, 0.85
"""Of the machine: a service that uses less than the first goes before everybody, above the second
no longer."""
_SHORT_S, _LONG_S = 0.003, 0.004
"""For so long at a stretch, on average, it may have all processors, to be given it and to keep it.
Elasticsearch at 0.7 of its highest load: 1.3 ms, and a shell waited 9 ms at most."""


_ALL, _REST_S = 0.95, 2.0
"""Of the machine, in one control period: nobody else has anything, so it goes back at once, and for
so long."""


def took_all_s(state: State) -> float:
    """When the service last had all of the machine; -inf: never."""
    before_s = state.now.memory.get("took_all_s", -math.inf)
    return state.time_s if state.service_cpus > _ALL * state.cores else before_s


def before_all(state: State, load: float, took_all_s: float) -> bool:
    """Whether the service may be under SCHED_FIFO. `load`: its CPUs, smoothed.

    Not where its threads are not known yet, and few of them may get reservations.
    """
    permitted = state.reservable_cpus > 0  # the kernel asks for the same privilege
    used, stretch_s = load / state.cores, _stretch_s(state, load)
    if _is(state):
        leaves = used < _TAKES and stretch_s < _LONG_S
    else:
        leaves = used < _LEAVES and stretch_s < _SHORT_S
    rested = state.time_s - took_all_s >= _REST_S
    return bool(state.threads) and permitted and leaves and rested


def _stretch_s(state: State, load: float) -> float:
    """How long all processors are busy with requests at a stretch, on average.

    1 / (m mu - lambda) of the queue M/M/m, whose mean need is the CPU time for each answer. A log
    that tells of slow requests alone makes it too long, which is safe.
    """
    if state.rate <= 0 or load >= state.cores:
        return math.inf
    return load / state.rate / (state.cores - load)


def ahead(state: State) -> bool:
    """Whether any thread of the service is above the fair class."""
    return _is(state) or reserved(state)


def reserved(state: State) -> bool:
    """Whether any has a reservation."""
    return any(one.policy == "deadline" for one in state.now.threads.values())


def schedule(nice: int, *, ahead: bool, competes: bool, urgent: bool) -> Schedule:
    """`competes`: with others, where no reservation is admitted; `urgent`: the SLA is broken then.

    Outweighing others by nice is void between control groups and sessions (autogroups, sched(7)),
    so SCHED_FIFO is what is left.
    """
    if ahead or (competes and urgent):
        return _FIFO
    return Schedule(nice=_FIRST if competes else nice)


def _is(state: State) -> bool:
    return state.now.service is not None and state.now.service.policy == "fifo"
