"""Separate CPUs for a light service and for a batch of few threads.

If the service needs little of the CPUs that the batch leaves, it loses nothing by being confined to
them, and the batch gains more than by any weight: no service thread preempts it, and it does not
migrate.
"""

from __future__ import annotations

import math

from aferir.colocation.policies.seen import Seen

_LIGHT, _HEAVY = 0.7, 0.8
"""The service is confined to the CPUs that the batch does not need while it uses less than the
first part of them, and until it uses more than the second (hysteresis)."""
_UNHARMED, _HARMED = 0.5, 0.65
"""Latency quantiles as parts of the SLA's bound. Separation may begin below the first, as the batch
then delays the service only through shared caches and memory. Above the second it ends for
`_WAIT_S`."""
FULL = 0.93
"""Largest share of a thread pool that may run or wait for a CPU: above it, requests queue, and the
service and the batch are not separated."""
_BARELY = 0.1
"""CPUs by which the measured use of the batch may exceed its number of busy threads."""
_WHOLE = 0.2
"""CPUs that the batch may leave unused of a whole number of CPUs. If it leaves more, it may have
more threads, each of which uses little."""
_LONGEST_S, _LOOK_S = 10.0, 1.0
"""Seconds for which the batch has CPUs of its own, and seconds without them before and in between.
A confined batch cannot show that it could use more, so its demand is measured without
confinement."""
_SETTLED_S, _WAIT_S = 1.0, 30.0


def look(state: Seen, quantile: float, load: float, busy: float) -> dict[str, float]:
    """Decide how many CPUs the batch has to itself, in `apart` (0 or absent: none).

    Also returns what the next decision needs. `quantile`: latency quantile divided by the SLA's
    bound. `load`, `busy`: smoothed CPUs that the service and the batch use.
    """
    memory, now_s = state.memory, state.time_s
    had, since_s = memory.get("apart", 0.0), memory.get("apart_s", now_s)
    until_s = memory.get("together_until_s", -math.inf)
    needs = math.ceil(busy - _BARELY)
    light = load < (_HEAVY if had else _LIGHT) * (state.cores - needs)
    harmed = (quantile > _HARMED or state.occupied > FULL) and now_s - since_s >= _SETTLED_S
    if had == needs and light and not harmed and now_s - since_s < _LONGEST_S:
        return {"apart": had, "apart_s": since_s}
    if had and harmed:
        until_s = now_s + _WAIT_S
    fits = light and needs - busy < _WHOLE and quantile < _UNHARMED and now_s >= until_s
    fits = fits and state.occupied < FULL
    if had or not fits:
        since_s = now_s
    elif now_s - since_s >= _LOOK_S:
        return {"apart": float(needs), "apart_s": now_s}
    return {"apart_s": since_s, "together_until_s": until_s}


def processors(found: dict[str, float], cores: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """CPUs of the service and CPUs of the batch; two empty tuples if both may use all CPUs."""
    first = cores - int(found.get("apart", 0.0))
    return (tuple(range(first)), tuple(range(first, cores))) if first < cores else ((), ())
