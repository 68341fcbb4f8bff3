"""Where protecting the service costs batch work that the SLA does not ask for.

A thread of the service that is woken takes the processor of a batch that is idle as a group (to
select_idle_sibling in kernel/sched/fair.c an idle one), and with a reservation that on which it
ran last, whoever is there. With fewer batch threads than processors another one idles meanwhile.
A batch of the fair class makes threads wake on the one that idles, and its weight says how long
those wait that wake beside it nevertheless: from next to nothing to as if the batch had most of its
processors. So the weight goes up while the quantile is far below the SLA. A service that one
processor does not suffice is spread then, and a light one kept apart (policies/apart.py).

Reservations cost too, near the capacity: they are less than there is. Workers that use them up have
a processor each as well, and the batch gives way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from aferir.colocation.policies import apart
from aferir.colocation.settings import Schedule, State

_NEAR, _FAR = 0.4, 0.2
"""Of the SLA: above the first quantile the weight falls or is given up, below the second it is
given and rises."""
_BROKEN = 0.8
_IDLE, _LEFT = 0.04, 0.02
"""Of the machine: above the first idle a rank is given, below the second one of weight 1 ends."""
_FREE, _OVER = 0.75, 0.99
"""Of the fullest pool of threads, those that run or wait: below the first the weight may rise,
above `apart.FULL` it falls by half a decade, above the second by a whole one. Requests then queue,
and a search engine's slow log does not count that time."""
_EASY, _STRAINED = 0.82, 0.9
"""The same for workers that have a processor each: of all that the service could use, what it
does."""
_LIGHT, _HEAVY = 0.75, 0.85
"""CPUs: a service that uses less than the first finds its way even where all of its threads share
a processor, and no longer above the second."""
_WORKS = 0.1
"""CPUs: a batch that uses less waits for something else."""
_MORE = 0.2
"""CPUs beyond all processors but one, which a batch of fewer threads than processors cannot use."""
_WHOLE = 0.06
"""CPUs: threads that go without so little of their processors gain nothing by weight."""
_MOST, _EVERYBODYS = 100 * 10**0.5, 100.0
"""Whoever else is on the batch's processor has about a quarter of it."""
_LIGHTLY = 30.0
_DECADE_S, _LATER_DECADE_S, _DECADE_OF_MOST_S = 0.6, 1.8, 30.0
"""For ten times the weight, above `_LIGHTLY` (how occupied a pool is is seen twice a second), and
for ten times the most that it may be after it was too much."""
_RISEN = 1.5
"""Times the usual rate: the weight was found for less."""
_SETTLED_S = 1.0
"""The window is as long: what it holds sooner is from before."""
_BEGINS_S = 1.5
"""Of the controller: the rate is of what was answered since it began, and not yet even."""
_IDLE_S, _STRAIN_S, _QUICK_S, _USUAL_S = 1.0, 0.5, 0.3, 5.0
"""Over which values are smoothed. A load that rises is to be seen before requests pile up."""
_USED_UP, _STILL_USED_UP = 0.9, 0.8
"""Of the reservations: a service that uses so much is squeezed by them, and remains so."""
_SQUEEZED, _SQUEEZED_S = 0.3, 10.0
"""Of the SLA, above which that matters; and for how long they are left."""
_FIRST_WAIT_S, _LONGEST_WAIT_S = 30.0, 600.0
"""After the rank was given up; twice as long each time."""
_JUDGED = ("slack_most", "lightened_s", "slack_wait_s", "strict_until_s")
"""What is remembered of weights."""


def look(
    state: State, past_s: float, *, whole: Mapping[int, float], shrunk: bool, crowded: bool
) -> dict[str, float]:
    """`slack`: the batch's weight in the fair class, 0 for none; and what to remember.

    `whole`: what could be reserved for each thread of a service whose workers can have a processor
    each; none for others. `shrunk`: the batch may not use all
    that it could. `crowded`: others work here, who are to have no less weight than the batch.
    """
    memory = state.now.memory
    seen = _seen(state, past_s)
    few = _WORKS < seen["busy"] < state.cores - 1 + _MORE
    own = {}
    if few and not (shrunk or crowded):
        own = apart.look(state, _quantile(state), seen["load"], seen["busy"])
    if own.get("apart"):
        found = {name: memory[name] for name in _JUDGED if name in memory}
        return {**seen, **found, **own, "slack": max(memory.get("slack", 0.0), 1.0)}
    heavy = bool(whole) and seen["load"] >= (_LIGHT if memory.get("heavy") else _HEAVY)
    found = _weighed(state, past_s, seen, heavy=heavy)
    had = found["slack"] > 0
    idle = (0.0 if found["slack"] > 1 else _LEFT) if had else _IDLE
    gives = (
        few
        and not shrunk
        and _quantile(state) < (math.inf if had else _FAR)
        and seen["idle"] >= idle * state.cores
        and (had or state.time_s - seen["since_s"] >= _BEGINS_S)
        and (had or heavy or state.occupied < apart.FULL)
        and (had or not heavy or seen["strain"] < _EASY)
        and state.time_s >= found["strict_until_s"]
    )
    most = _EVERYBODYS if crowded else _MOST
    weight = min(max(found["slack"], 1.0), most) if gives else 0.0
    until_s = _squeezed_until_s(state, seen["load"], {} if crowded else whole)
    return {
        **seen,
        **found,
        **own,
        "slack": weight,
        "heavy": float(heavy),
        "squeezed_until_s": until_s,
        "squeezed": float(state.time_s < until_s and not crowded),
    }


def _squeezed_until_s(state: State, load: float, whole: Mapping[int, float]) -> float:
    """Until when workers that use up their reservations have a processor each instead.

    What the kernel admits is a tenth to a fifth less than there is, and near its capacity a service
    needs that too.
    """
    until_s = state.now.memory.get("squeezed_until_s", -math.inf)
    reserved = sum(whole.values())
    near = load >= _USED_UP * reserved and math.inf > _quantile(state) > _SQUEEZED
    stays = state.time_s < until_s and load >= _STILL_USED_UP * reserved
    return state.time_s + _SQUEEZED_S if whole and (near or stays) else until_s


def spread(
    eased: dict[str, float], whole: Mapping[int, float], cores: int, nice: int
) -> dict[int, Schedule]:
    """A processor of its own for each worker of a service that one processor does not suffice.

    Beside a batch the fair class leaves two of them on one, for none of the others idles. `whole`:
    nearly a processor for each worker, of which there are no more than `cores`, and little for the
    other threads.
    """
    ranked = eased["slack"] and eased.get("heavy")
    if not (ranked or eased.get("squeezed")):
        return {}
    large = max(whole.values(), default=0.0)
    workers = sorted(tid for tid, share in whole.items() if share > large / 2)
    return {tid: Schedule(nice=nice, cpus=(place % cores,)) for place, tid in enumerate(workers)}


def settles(eased: dict[str, float], time_s: float) -> bool:
    """Whether the weight has just been lowered: what was too much of it need not be shrunk."""
    return time_s - eased.get("lightened_s", -math.inf) < _SETTLED_S


def batch_weight(eased: dict[str, float]) -> int:
    """1, 3, 10, 31 and so on: rewriting it for less is not worth it. Everybody's without a rank."""
    if not eased["slack"] or eased.get("apart"):
        return int(_EVERYBODYS)
    return in_steps(eased["slack"])


def in_steps(weight: float) -> int:
    """The step at or below a weight."""
    return int(10 ** (math.floor(2 * math.log10(weight) + 1e-6) / 2))


def _seen(state: State, past_s: float) -> dict[str, float]:
    """CPUs that idle, that the service uses and the batch, the service's strain, the usual rate."""
    memory = state.now.memory
    could = state.service_cpus + state.idle_cpus
    strain = state.service_cpus / could if could > 0 else 1.0
    usual = memory.get("usual_rate", state.rate) if memory.get("slack") else state.rate

    def smooth(name: str, now: float, over_s: float, first: float) -> float:
        before = memory.get(name, first)
        return before + (now - before) * min(1.0, past_s / over_s)

    return {
        "since_s": memory.get("since_s", state.time_s),
        "idle": smooth("idle", state.idle_cpus, _IDLE_S, 0.0),
        "load": smooth("load", state.service_cpus, _QUICK_S, state.service_cpus),
        "busy": smooth("busy", state.batch_cpus, _QUICK_S, state.batch_cpus),
        "strain": smooth("strain", strain, _STRAIN_S, 1.0),
        "usual_rate": usual + (state.rate - usual) * min(1.0, past_s / _USUAL_S),
    }


def _weighed(
    state: State, past_s: float, seen: dict[str, float], *, heavy: bool
) -> dict[str, float]:
    """The weight that may be given, what it may be at most, and until when there is none.

    `heavy`: there are reservations to go back to, that serve as well as weight 1.
    """
    memory = state.now.memory
    weight = memory.get("slack", 0.0)
    most = min(memory.get("slack_most", _MOST) * 10 ** (past_s / _DECADE_OF_MOST_S), _MOST)
    lowered_s = memory.get("lightened_s", -math.inf)
    wait_s = memory.get("slack_wait_s", _FIRST_WAIT_S)
    strict_until_s = memory.get("strict_until_s", -math.inf)
    quantile = _quantile(state)
    strained = seen["strain"] > _STRAINED if heavy else state.occupied > apart.FULL
    easy = seen["strain"] < _EASY if heavy else state.occupied < _FREE
    settled = state.time_s - lowered_s >= _SETTLED_S
    if weight > 1 and state.rate > _RISEN * seen["usual_rate"]:
        weight, lowered_s = 1.0, state.time_s
    elif weight > 1 and settled and (quantile > _NEAR or strained):
        most, lowered_s = max(weight / 10**0.5, 1.0), state.time_s
        weight = max(weight / _less(state, quantile, heavy=heavy), 1.0)
    elif weight > 0 and settled and state.latency and (quantile > _NEAR or (heavy and strained)):
        strict_until_s = state.time_s + wait_s
        wait_s = min(2 * wait_s, _LONGEST_WAIT_S)
    elif weight > 0 and quantile < _FAR and easy and _gains(seen["busy"]):
        decade_s = _DECADE_S if heavy or weight < _LIGHTLY else _LATER_DECADE_S
        weight = max(weight, min(weight * 10 ** (past_s / decade_s), most))
    return {
        "slack": weight,
        "slack_most": most,
        "lightened_s": lowered_s,
        "slack_wait_s": wait_s,
        "strict_until_s": strict_until_s,
    }


def _less(state: State, quantile: float, *, heavy: bool) -> float:
    """By what factor the batch's weight is lowered, where it was too much."""
    if quantile > _BROKEN:
        return 100.0
    barely = not heavy and quantile <= _NEAR and state.occupied <= _OVER
    return 10**0.5 if barely else 10.0


def _quantile(state: State) -> float:
    """The latency at the SLA's quantile over its bound; infinite where none is known."""
    return state.latency.quantile_s / state.sla.bound_s if state.latency else math.inf


def _gains(batch_cpus: float) -> bool:
    return math.ceil(batch_cpus) - batch_cpus > _WHOLE
