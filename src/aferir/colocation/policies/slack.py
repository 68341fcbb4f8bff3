"""The batch's weight in the fair class while latency is far below the SLA.

A woken service thread preempts the batch if the batch's group is idle, as select_idle_sibling in
kernel/sched/fair.c takes the batch's CPU for an idle one. With a reservation, the thread takes the
CPU on which it ran last. If the batch has fewer threads than there are CPUs, another CPU is idle
meanwhile. A batch in the fair class makes threads wake on the idle CPU, and its weight determines
how long a thread waits that wakes beside it nevertheless. The weight therefore rises while the
quantile is far below the SLA. A service that needs more than one CPU is then spread over the CPUs,
and a light one separated from the batch (policies/apart.py).

Reservations have a cost near capacity: the kernel admits less CPU time than there is. Workers that
use up their reservations get one CPU each instead, and the batch yields.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from aferir.colocation.policies import apart
from aferir.colocation.policies.seen import Seen
from aferir.colocation.settings import Schedule

_NEAR, _FAR = 0.4, 0.2
"""Latency quantiles as parts of the SLA's bound: above the first the batch's weight falls or ends,
below the second it begins and rises."""
_BROKEN = 0.8
_IDLE, _LEFT = 0.04, 0.02
"""Idle CPUs as shares of the machine: above the first the batch may get a weight, below the second
a weight of 1 ends."""
_FREE, _OVER = 0.75, 0.99
"""Shares of the fullest thread pool that run or wait for a CPU: below the first the weight may
rise, above `apart.FULL` it falls by a factor of 10^0.5, above the second by 10. Requests then
queue, and a search engine's slow log does not include that time."""
_EASY, _STRAINED = 0.82, 0.9
"""The same limits for workers that have a CPU each, as the CPUs that the service uses divided by
those it could use."""
_LIGHT, _HEAVY = 0.75, 0.85
"""CPUs: a service that uses less than the first meets its SLA even if all its threads share a CPU;
one that uses more than the second does not."""
_WORKS = 0.1
"""CPUs: a batch that uses less is waiting for something other than a CPU."""
_MORE = 0.2
"""Tolerance in CPUs above all CPUs but one, which a batch with fewer threads than CPUs cannot
exceed."""
_WHOLE = 0.06
"""CPUs: a batch whose threads lack no more than this gains nothing by a higher weight."""
_MOST, _EVERYBODYS = 100 * 10**0.5, 100.0
"""Largest weight, which leaves another process on the batch's CPU about a quarter of it; and the
default weight."""
_LIGHTLY = 30.0
_DECADE_S, _LATER_DECADE_S, _DECADE_OF_MOST_S = 0.6, 1.8, 30.0
"""Seconds in which the weight rises tenfold, below and above `_LIGHTLY` (slower there because pool
occupancy is measured only twice a second), and in which its upper limit rises tenfold after a
cut."""
_RISEN = 1.5
"""If the request rate exceeds its usual value by this factor, the weight was found for a lower
load."""
_SETTLED_S = 1.0
"""Seconds after a cut in which the latency window still holds earlier answers."""
_BEGINS_S = 1.5
"""Seconds after the start in which the request rate is not yet reliable."""
_IDLE_S, _STRAIN_S, _QUICK_S, _USUAL_S = 1.0, 0.5, 0.3, 5.0
"""Time constants in seconds of smoothing. A rising load must be detected before requests queue."""
_USED_UP, _STILL_USED_UP = 0.9, 0.8
"""Used part of the reservations above which they limit the service, and above which they still do
(hysteresis)."""
_SQUEEZED, _SQUEEZED_S = 0.3, 10.0
"""Quantile divided by the SLA's bound above which that matters, and seconds without
reservations."""
_FIRST_WAIT_S, _LONGEST_WAIT_S = 30.0, 600.0
"""First and longest wait in seconds after a weight ended; it doubles each time."""
_JUDGED = ("slack_most", "lightened_s", "slack_wait_s", "strict_until_s")
"""Names of the values that are remembered about weights."""


def look(
    state: Seen, past_s: float, *, whole: Mapping[int, float], shrunk: bool, crowded: bool
) -> dict[str, float]:
    """Decide the batch's weight in the fair class (`slack`, 0: none).

    Also returns what the next decision needs. `whole`: CPUs that could be reserved for each thread
    if every worker of the service can have a CPU of its own; empty otherwise. `shrunk`: the batch
    is limited to less than it could use. `crowded`: other processes compete and must not weigh less
    than the batch.
    """
    memory = state.memory
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


def _squeezed_until_s(state: Seen, load: float, whole: Mapping[int, float]) -> float:
    """The time until which workers that use up their reservations get one CPU each instead.

    The kernel admits a tenth to a fifth less than there is, and a service near capacity needs that
    too.
    """
    until_s = state.memory.get("squeezed_until_s", -math.inf)
    reserved = sum(whole.values())
    near = load >= _USED_UP * reserved and math.inf > _quantile(state) > _SQUEEZED
    stays = state.time_s < until_s and load >= _STILL_USED_UP * reserved
    return state.time_s + _SQUEEZED_S if whole and (near or stays) else until_s


def spread(
    eased: dict[str, float], whole: Mapping[int, float], cores: int, nice: int
) -> dict[int, Schedule]:
    """Pin each worker of a service that needs more than one CPU to a CPU of its own.

    Beside a batch, the fair class leaves two workers on one CPU because no other CPU is idle.
    `whole`: nearly a CPU for each worker, of which there are no more than `cores`, and little for
    other threads.
    """
    ranked = eased["slack"] and eased.get("heavy")
    if not (ranked or eased.get("squeezed")):
        return {}
    large = max(whole.values(), default=0.0)
    workers = sorted(tid for tid, share in whole.items() if share > large / 2)
    return {tid: Schedule(nice=nice, cpus=(place % cores,)) for place, tid in enumerate(workers)}


def settles(eased: dict[str, float], time_s: float) -> bool:
    """Whether the weight was lowered within the last second, so that shrinking should wait."""
    return time_s - eased.get("lightened_s", -math.inf) < _SETTLED_S


def batch_weight(eased: dict[str, float]) -> int:
    """The batch's cpu.weight in steps of 10^0.5 (1, 3, 10, 31, ...); 100 without a special one."""
    if not eased["slack"] or eased.get("apart"):
        return int(_EVERYBODYS)
    return in_steps(eased["slack"])


def in_steps(weight: float) -> int:
    """The largest step of 10^0.5 at or below a weight."""
    return int(10 ** (math.floor(2 * math.log10(weight) + 1e-6) / 2))


def _seen(state: Seen, past_s: float) -> dict[str, float]:
    """Smoothed idle CPUs, CPUs of service and batch, the service's strain, and the usual rate."""
    memory = state.memory
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
    state: Seen, past_s: float, seen: dict[str, float], *, heavy: bool
) -> dict[str, float]:
    """The batch's next weight, its upper limit, and the time until which it has none.

    `heavy`: reservations are available instead and serve the batch as well as a weight of 1.
    """
    memory = state.memory
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


def _less(state: Seen, quantile: float, *, heavy: bool) -> float:
    """Factor by which the batch's weight is divided when it was too high."""
    if quantile > _BROKEN:
        return 100.0
    barely = not heavy and quantile <= _NEAR and state.occupied <= _OVER
    return 10**0.5 if barely else 10.0


def _quantile(state: Seen) -> float:
    """The latency quantile divided by the SLA's bound; infinite if unknown."""
    return state.latency.quantile_s / state.sla.bound_s if state.latency else math.inf


def _gains(batch_cpus: float) -> bool:
    return math.ceil(batch_cpus) - batch_cpus > _WHOLE
