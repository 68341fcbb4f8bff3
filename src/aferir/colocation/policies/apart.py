"""Processors of their own for a light service and for a batch of few threads.

A service that needs little of the processors which the batch leaves loses nothing there, and the
batch gains more than by any weight: nobody wakes on top of it, and it does not migrate.
"""

from __future__ import annotations

import math

from aferir.colocation.settings import State

_LIGHT, _HEAVY = 0.7, 0.8
"""Of the processors that the batch does not need: a service that uses less than the first is kept
on those, and no more above the second."""
_UNHARMED, _HARMED = 0.5, 0.65
"""Of the SLA: below the first quantile both may have processors of their own, where nothing of the
batch delays the service but shared caches and memory; above the second not, for a while."""
FULL = 0.93
"""Of the fullest pool of threads, those that run or wait: above that neither, requests queue."""
_BARELY = 0.1
"""CPUs by which a batch may seem to use more than its threads can."""
_WHOLE = 0.2
"""CPUs that a batch may leave of the processors it needs: what leaves more may have more threads,
each of which uses little."""
_LONGEST_S, _LOOK_S = 10.0, 1.0
"""A batch on processors of its own cannot be seen to want more: so it is looked at for so long
without, before and from time to time."""
_SETTLED_S, _WAIT_S = 1.0, 30.0


def look(state: State, quantile: float, load: float, busy: float) -> dict[str, float]:
    """`apart`: how many processors the batch has for itself; 0 or not there for none.

    And what to remember. `quantile`: of the SLA. `load`, `busy`: CPUs of the service and of the
    batch, smoothed.
    """
    memory, now_s = state.now.memory, state.time_s
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
    """Those of the service and those of the batch; () and (): all are everybody's."""
    first = cores - int(found.get("apart", 0.0))
    return (tuple(range(first)), tuple(range(first, cores))) if first < cores else ((), ())
