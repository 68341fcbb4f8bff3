"""Where protecting the service costs batch work that the SLA does not ask for.

A thread of the service that is woken takes the processor of a batch that is idle as a group (to
select_idle_sibling in kernel/sched/fair.c an idle one), and with a reservation that on which it
ran last, whoever is there. With fewer batch threads than processors another one idles meanwhile.
A batch of the fair class, however little its weight, makes threads wake on the one that idles.
"""

from __future__ import annotations

import math

from aferir.colocation.settings import State

_NEAR, _FAR = 0.4, 0.25
"""Of the SLA: above the first quantile it is given up, and below the second begun."""
_IDLE = 0.1
"""Of the machine."""
_LIGHT, _HEAVY = 0.7, 0.8
"""CPUs: a service that uses less than the first finds its way even where all of its threads share
a processor, and no longer above the second."""
_WORKS = 0.1
"""CPUs: a batch that uses less waits for something else."""
_SMOOTH_S = 1.0
_QUICK_S = 0.3
"""A load that rises is to be seen before requests pile up."""
_FIRST_WAIT_S, _LONGEST_WAIT_S = 30.0, 600.0
"""After it was given up; twice as long each time."""


def look(state: State, past_s: float, *, spread: bool, shrunk: bool) -> dict[str, float]:
    """`slack` 1 where the batch is to have a rank in the fair class, and what to remember.

    `spread`: reservations can spread the service's threads, which the fair class leaves on one
    processor beside a batch with a rank. `shrunk`: the batch may not use all that it could.
    """
    memory = state.now.memory
    idle = memory.get("idle", 0.0)
    idle += (state.idle_cpus - idle) * min(1.0, past_s / _SMOOTH_S)
    load = memory.get("load", state.service_cpus)
    load += (state.service_cpus - load) * min(1.0, past_s / _QUICK_S)
    had = memory.get("slack", 0.0) > 0
    wait_s = memory.get("slack_wait_s", _FIRST_WAIT_S)
    strict_until_s = memory.get("strict_until_s", -math.inf)
    quantile = state.latency.quantile_s / state.sla.bound_s if state.latency else math.inf
    if had and state.latency and quantile > _NEAR:
        strict_until_s = state.time_s + wait_s
        wait_s = min(2 * wait_s, _LONGEST_WAIT_S)
    wasted = idle > _IDLE * state.cores * (0.5 if had else 1.0)
    may = not shrunk and (not spread or load < (_HEAVY if had else _LIGHT))
    works = state.batch_cpus > _WORKS
    far = quantile < (_NEAR if had else _FAR)
    return {
        "slack": float(may and wasted and works and far and state.time_s >= strict_until_s),
        "idle": idle,
        "load": load,
        "slack_wait_s": wait_s,
        "strict_until_s": strict_until_s,
    }
