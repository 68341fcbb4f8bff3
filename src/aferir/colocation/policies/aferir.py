"""aferir's own policy: give way, reserve where that helps, shrink when both are too little.

Batch work whose whole control group is idle gives a processor back the moment that a request
wakes a thread, so as long as nobody else competes it costs the service little, and it gets all
that is left. SCHED_IDLE alone does not: within a group it ranks threads among themselves, and the
group has everybody's weight (se_is_idle in kernel/sched/fair.c). What giving way cannot mend:

- threads that wait for one processor while batch work has another, which the fair class sees late:
  where there are no more critical threads than processors, each gets one nearly whole, and where
  there are more, the whole service goes before everybody (policies/first.py);
- others' work in the fair class (neither the service nor the batch). Where it is much, or makes the
  service late, the critical threads get reservations, all of them at once and scaled to what the
  kernel admits, with a period far below the SLA, because a throttled thread waits up to T - Q.
  Where it is some, it may be whom the service works for or with, and going before them makes late
  what no log of the service tells: there the batch gives way to all;
- others who take what they get, behind whom the batch gets next to nothing: while the SLA is far
  it has a share beside them (policies/standing.py);
- the batch itself, which gets less done in an idle group: where the critical threads have
  reservations it has everybody's rank, unless the quantile is near the SLA;
- processors that idle because the batch has fewer threads than the machine processors: whoever is
  woken beside it takes its own, since to the service it counts as idle, and not one that is. There
  it gets processors of its own, or a rank whose weight rises (policies/apart.py, slack.py);
- a quantile near the SLA although the threads come first (shared caches and memory, or a load near
  capacity): the batch is shrunk at once by half of what it really uses, and grown again slowly,
  more slowly still where it did harm before;
- a service that works and answers nothing: the batch yields.
"""

from __future__ import annotations

import math
from typing import Literal

from aferir.colocation.policies import apart, company, first, slack, standing
from aferir.colocation.policies.parameters import Parameters
from aferir.colocation.policies.reservation import Reservation, scheduled, shares
from aferir.colocation.settings import Batch, Decide, Settings, State

Verdict = Literal["danger", "hold", "calm"]

_STEP = 0.05
"""Quotas are set in such steps of the machine: rewriting one for less is not worth it."""
_FULL = 1.0
_MUCH = 0.6
"""A batch that may have less than this part of its use when whole counts as shrunk."""
_SUMS = ("whole_s", "whole_sum", "shrunk_s", "shrunk_sum")
_NOTHING, _LITTLE = 0.02, 0.05
"""Of the threads' mean use: below it a thread gets so little beside the others."""
_LONGEST, _LONGEST_SHORT, _LONGEST_S = 0.25, 0.5, 0.025
"""Of the SLA, for the period of a reservation of nearly a processor, which keeps others from it for
as long; of the SLA where that is shorter than ticks allow; and at all, for whoever types."""
_EVIDENCE_S = 3.0
"""Of a shrunk batch, before it is judged."""


def aferir(parameters: Parameters | None = None) -> Decide:
    """Make the policy."""
    chosen = parameters or Parameters()
    return lambda state: _decide(state, chosen)


def judge(state: State) -> Verdict:
    """What the latency of the last moments says. Danger is believed where it is certain."""
    bound_s = state.sla.bound_s
    patience_s = max(1.0, 5 * bound_s)
    works = state.service_cpus > 0.05
    if state.silent_s > patience_s:
        return "danger" if works else "calm"  # it hangs, or there is nothing to answer
    if state.latency is None:
        return "hold" if works else "calm"
    if state.latency.low_s > bound_s:
        return "danger"
    return "hold" if state.latency.quantile_s > bound_s else "calm"


def _decide(state: State, chosen: Parameters) -> Settings:
    memory = state.now.memory
    past_s = max(0.0, min(state.time_s - memory.get("time_s", state.time_s), 1.0))
    verdict = judge(state)
    ratio = _ratio(state, memory, past_s)
    late = verdict == "danger" or ratio > chosen.caution
    spans = company.look(state, chosen, past_s, late=late)
    accompanied = state.time_s < spans["company_until_s"]
    use = _use(state, memory, past_s)
    shared, period_s = _shared(state, chosen, use)
    whole = _nearly_whole(shared, chosen)
    held = memory.get("share", _FULL) < _FULL or chosen.batch_share == 0
    eased = slack.look(state, past_s, whole=whole, shrunk=held, crowded=accompanied)
    if verdict == "danger" and slack.settles(eased, state.time_s):
        verdict = "hold"
    competes = state.time_s < spans["reserved_until_s"] and not eased["slack"]
    threads = slack.spread(eased, whole, state.cores, chosen.nice)
    fair = bool(eased["slack"]) or accompanied or state.time_s < spans["fair_until_s"]
    if competes:
        threads = scheduled(shared, period_s=period_s, reclaim=True)
    elif not threads and not fair:
        threads = scheduled(whole, period_s=period_s, reclaim=True)
    free = not (threads or whole or eased["slack"] or accompanied)
    before = first.look(state, past_s, load=eased["load"], late=late, free=free)
    # Above the fair class anyway: the batch need not stand back behind everybody else as well.
    outranked = any(one.policy == "deadline" for one in threads.values())
    again_s = state.time_s + 3 * chosen.hold_s
    wary_until_s = again_s if outranked and late else memory.get("wary_until_s", -math.inf)
    beset = state.time_s < spans["beset_until_s"]
    spans |= standing.look(state, chosen, ratio, verdict, beset=beset)
    polite = (accompanied and not beset) or not outranked or state.time_s < wary_until_s
    urgent_until_s = _urgent_until_s(state, chosen, verdict, held_up=competes and not threads)
    blame = _blame(state, chosen, verdict, ratio, past_s)
    innocent = state.time_s < blame["innocent_until_s"]
    growth = _share(state, chosen, verdict, ratio, past_s, innocent=innocent)
    ranks, weight = standing.rank(chosen, spans, eased)
    service_cpus, batch_cpus = apart.processors(eased, state.cores)
    return Settings(
        threads=threads,
        service=first.schedule(
            0 if accompanied else chosen.nice,
            first=before["first"] > 0,
            competes=competes and not threads,
            urgent=state.time_s < urgent_until_s,
        ),
        service_cpus=service_cpus,
        batch=_batch(state, growth["share"], weight, batch_cpus, idle=polite and not ranks),
        memory={
            "time_s": state.time_s,
            "ratio": ratio,
            "urgent_until_s": urgent_until_s,
            "wary_until_s": wary_until_s,
            **spans,
            **before,
            **growth,
            **blame,
            **eased,
            **{f"use:{tid}": cpus for tid, cpus in use.items()},
        },
    )


def _urgent_until_s(state: State, chosen: Parameters, verdict: Verdict, *, held_up: bool) -> float:
    """Until when the service goes before everybody without reservations."""
    if held_up and verdict == "danger":
        return state.time_s + chosen.hold_s
    return state.now.memory.get("urgent_until_s", -math.inf)


def _shared(
    state: State, chosen: Parameters, use: dict[int, float]
) -> tuple[dict[int, float], float]:
    """Reserved processors for all critical threads at once, none where that does harm; the period.

    Which thread of a pool takes the next request is chance, so all are alike, but for threads that
    use several times the mean or next to nothing: their role is another one, as that of a master
    process is. `use`: CPUs of each thread, smoothed.
    """
    mean = sum(use.values()) / max(len(use), 1)
    large = max((one.runtime_s for one in state.now.threads.values()), default=0.0)
    small = min((one.runtime_s for one in state.now.threads.values()), default=0.0)
    wanted = []
    for tid, cpus in use.items():
        now = state.now.threads.get(tid)
        had = now is not None and now.runtime_s > (large + small) / 2  # hysteresis
        if cpus < _NOTHING * mean:
            wanted.append(Reservation(tid, _LITTLE))
        else:
            wanted.append(Reservation(tid, 3.0 if cpus > (2.0 if had else 3.0) * mean else 1.0))
    alike = [Reservation(tid, 1.0) for tid in use]
    for candidate in (wanted, alike):
        found = shares(candidate, state.reservable_cpus)
        least = min((found.get(one.tid, 0) for one in candidate if one.want > _LITTLE), default=0)
        period_s = _period_s(state, chosen, least, sum(use.values()))
        if period_s is not None:
            return found, period_s
    return {}, 0.0


def _nearly_whole(shared: dict[int, float], chosen: Parameters) -> dict[int, float]:
    """Reservations of which the large ones leave next to no time in which to be throttled.

    Such spread the threads over the processors at once, as SCHED_FIFO does. The fair class leaves
    two of them on one processor for some milliseconds where batch work keeps the other from idling.
    """
    return shared if max(shared.values(), default=0.0) >= chosen.nearly_whole else {}


def _period_s(state: State, chosen: Parameters, least: float, used_cpus: float) -> float | None:
    """Period of all reservations, or None where there are too many threads for the room.

    A request would then wait for several periods. `least`: CPUs of the smallest of them.
    """
    bound_s = state.sla.bound_s
    if least <= 0:
        return None
    if least >= chosen.nearly_whole:
        whole_s = min(chosen.throttled / (1.0 - least), _LONGEST) * bound_s
        tick_s = min(chosen.least_runtime_s / least, _LONGEST_SHORT * bound_s)
        return max(min(whole_s, _LONGEST_S), tick_s)
    period_s = max(chosen.period * bound_s, chosen.least_runtime_s / least)
    per_request_s = used_cpus / state.rate if state.rate > 0 else 0.0
    most_s = bound_s * (0.75 if first.reserved(state) else 0.5)  # hysteresis
    if period_s > bound_s / 4 or 3 * per_request_s / least > most_s:
        return None
    return period_s


def _use(state: State, memory: dict[str, float], past_s: float) -> dict[int, float]:
    """CPUs of each critical thread, smoothed over some five seconds."""
    part = min(1.0, past_s / 5.0)
    found = {}
    for thread in state.threads:
        before = memory.get(f"use:{thread.tid}", thread.cpus)
        found[thread.tid] = before + (thread.cpus - before) * part
    return found


def _ratio(state: State, memory: dict[str, float], past_s: float) -> float:
    """The quantile relative to the SLA, smoothed over some ten seconds."""
    if state.latency is None:
        return memory.get("ratio", 0.0) * math.exp(-past_s / 10.0)
    now = min(state.latency.quantile_s / state.sla.bound_s, 2.0)
    before = memory.get("ratio", now)
    return before + (now - before) * min(1.0, past_s / 10.0)


def _blame(
    state: State, chosen: Parameters, verdict: Verdict, ratio: float, past_s: float
) -> dict[str, float]:
    """Whether shrinking the batch helps: the quantile while it is whole, and while it is shrunk.

    Both are forgotten over a minute. A service that is near its SLA by itself gains nothing from a
    batch that stands still, so the batch is left whole for a while.
    """
    memory = state.now.memory
    share = memory.get("share", _FULL)
    fade = math.exp(-past_s / 60.0)
    found = {name: memory.get(name, 0.0) * fade for name in _SUMS}
    settled = state.time_s - memory.get("changed_s", state.time_s) >= _settled_s(state, chosen)
    whole_use = memory.get("whole_use", 0.0)
    if share >= _FULL:
        whole_use += (state.batch_cpus / state.cores - whole_use) * min(1.0, past_s / 5.0)
    shrunk_much = share <= _MUCH * whole_use
    if settled and state.latency is not None and (shrunk_much or share >= _FULL):
        arm = "shrunk" if shrunk_much else "whole"
        found[f"{arm}_s"] += past_s
        found[f"{arm}_sum"] += past_s * min(state.latency.quantile_s / state.sla.bound_s, 2.0)
    until_s = memory.get("innocent_until_s", -math.inf)
    load = memory.get("innocent_load", 0.0)
    if until_s > state.time_s and state.service_cpus > 1.5 * load + 0.1 * state.cores:
        until_s = -math.inf  # another load, another judgement
    elif (
        shrunk_much
        and (verdict != "calm" or ratio > chosen.caution)
        and found["shrunk_s"] >= _EVIDENCE_S
    ):
        whole = found["whole_sum"] / max(found["whole_s"], 1.0)
        shrunk = found["shrunk_sum"] / found["shrunk_s"]
        if shrunk > chosen.helps * whole:
            until_s, load = state.time_s + chosen.innocence_s, state.service_cpus
    return {
        **found,
        "whole_use": whole_use,
        "innocent_until_s": until_s,
        "innocent_load": load,
    }


def _share(
    state: State,
    chosen: Parameters,
    verdict: Verdict,
    ratio: float,
    past_s: float,
    *,
    innocent: bool,
) -> dict[str, float]:
    """The batch's share of the machine, the most that it may have, and when either fell."""
    memory = state.now.memory
    share, most = memory.get("share", _FULL), memory.get("most", _FULL)
    shrunk_s, lowered_s = memory.get("shrunk_s", -math.inf), memory.get("lowered_s", -math.inf)
    changed_s = memory.get("changed_s", state.time_s)
    before = share
    if innocent:
        share, most = _FULL, _FULL
    elif verdict == "danger":
        if state.time_s - shrunk_s >= _settled_s(state, chosen):
            used = min(share, max(state.batch_cpus / state.cores, chosen.least_share))
            share, shrunk_s = chosen.shrink * used, state.time_s
            if share < chosen.least_share or _hopeless(state):
                share = 0.0
    elif verdict == "calm" and share < most and state.time_s - shrunk_s >= chosen.patience_s:
        share = min(most, max(share, chosen.least_share) + chosen.grow_per_s * past_s)
    if not innocent and ratio > chosen.caution:
        if state.time_s - max(lowered_s, shrunk_s) >= chosen.lower_every_s:
            used = max(state.batch_cpus / state.cores, chosen.least_share)
            most = max(chosen.lower * min(most, share, used), chosen.least_share)
            share, lowered_s = min(share, most), state.time_s
    elif ratio < chosen.calm:
        most = min(_FULL, most + chosen.raise_per_s * past_s)
    if share != before and (share < before or share >= _FULL):
        changed_s = state.time_s
    return {
        "share": share,
        "most": most,
        "shrunk_s": shrunk_s,
        "lowered_s": lowered_s,
        "changed_s": changed_s,
    }


def _settled_s(state: State, chosen: Parameters) -> float:
    """How long it takes until the window holds only answers from after a change."""
    if state.latency is None or state.rate <= 0:
        return chosen.settle_s
    return min(max(chosen.settle_s, state.latency.n / state.rate), chosen.patience_s)


def _hopeless(state: State) -> bool:
    """Whether half as much batch work would be too much for certain."""
    return state.latency is not None and state.latency.low_s > 2 * state.sla.bound_s


def _batch(state: State, share: float, weight: int, cpus: tuple[int, ...], *, idle: bool) -> Batch:
    """`idle`: as a whole."""
    steps = math.floor(share / _STEP + 1e-9)
    return Batch(
        policy="idle" if idle else "other",
        idle=idle,
        weight=weight,
        quota_cpus=None if share >= _FULL or share <= 0 else max(steps, 1) * _STEP * state.cores,
        cpus=cpus,
        suspended=share <= 0,
    )
