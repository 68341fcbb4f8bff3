"""aferir's policy: let the batch yield, reserve CPU where that helps, and cap the batch last.

If the batch's whole control group is idle (cpu.idle), the batch releases its CPU as soon as a
request wakes a service thread. As long as no other program competes, this costs the service little,
and the batch gets all CPU time that is left. SCHED_IDLE on threads is not enough: it ranks threads
within their group only, and the group keeps its normal weight (se_is_idle in kernel/sched/fair.c).
Yielding does not solve these cases:

- Critical threads queue on one CPU while the batch has another, and the fair class balances them
  late. If there are no more critical threads than CPUs, each gets a reservation of nearly a whole
  CPU; if there are more, the whole service runs under SCHED_FIFO (policies/first.py).
- Other processes (neither service nor batch) compete in the fair class. If they use much, or make
  the service late, all critical threads get reservations at once, scaled to what the kernel admits.
  The period T is far below the SLA because a throttled thread waits up to T - Q. If they use
  little, they may be clients or backends of the service, and outranking them would add latency that
  no log of the service shows; the batch then yields to all of them.
- Other processes use all the CPU time they can get and starve the batch. While latency is far below
  the SLA, the batch gets a share beside them (policies/standing.py).
- An idle group makes the batch itself slower. While critical threads have reservations, the batch
  has normal weight, unless the quantile is near the SLA.
- CPUs stay idle because the batch has fewer threads than the machine has CPUs: a woken service
  thread preempts the batch, whose CPU counts as idle, instead of taking the one that is idle. The
  batch gets CPUs of its own, or a weight that rises (policies/apart.py, slack.py).
- The quantile is near the SLA although the service's threads run first (shared caches and memory,
  or a load near capacity). The batch is cut at once to half of its measured use and grows again
  slowly, more slowly still up to a share that was harmful before.
- The service uses CPU but answers nothing. The batch is then cut as when the SLA is violated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from aferir.colocation.policies import apart, company, first, slack, standing
from aferir.colocation.policies.judging import Verdict, explained, judge
from aferir.colocation.policies.parameters import Parameters
from aferir.colocation.policies.reservation import Reservation, scheduled, shares
from aferir.colocation.policies.seen import Seen
from aferir.colocation.settings import Batch, Explanation, Policy, Settings, State

_STEP = 0.05
"""CPU quotas are rounded to this share of the machine; smaller changes are not worth a write."""
_FULL = 1.0
_MUCH = 0.6
"""The batch counts as shrunk if its share is below this part of what it uses when unlimited."""
_SUMS = ("whole_s", "whole_sum", "shrunk_s", "shrunk_sum")
_NOTHING, _LITTLE = 0.02, 0.05
"""Threads that use less than the first part of the mean use of all critical threads get a
reservation of only the second weight (relative to 1 for the others)."""
_LONGEST, _LONGEST_SHORT, _LONGEST_S = 0.25, 0.5, 0.025
"""Limits of the period of a nearly whole-CPU reservation, which keeps other threads off that CPU
for as long: a part of the SLA; a part of the SLA where ticks require a longer period; and an
absolute limit in seconds, so that interactive users do not notice."""
_EVIDENCE_S = 3.0
"""Seconds of answers with a shrunk batch that are needed before its effect is judged."""


class Memory(msgspec.Struct, frozen=True):
    """Values that the next decision needs, by name, and the last explanation."""

    values: Mapping[str, float] = MappingProxyType({})
    explanation: Explanation = Explanation()


def aferir(parameters: Parameters | None = None) -> Policy[Memory]:
    """Return the policy with these parameters, or with the defaults."""
    chosen = parameters or Parameters()

    def decide(state: State, memory: Memory) -> tuple[Settings, Memory]:
        fields = {name: getattr(state, name) for name in State.__struct_fields__}
        verdict = judge(state)
        settings, values = _decide(Seen(**fields, memory=memory.values), chosen)
        explanation = explained(settings, verdict, memory.explanation, state.time_s)
        made = msgspec.structs.replace(settings, explanation=explanation)
        return made, Memory(values, explanation)

    return Policy(Memory(), decide)


def _decide(state: Seen, chosen: Parameters) -> tuple[Settings, dict[str, float]]:
    memory = state.memory
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
    # Reservations outrank the fair class, so the batch's group need not be idle as well.
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
    settings = Settings(
        threads=threads,
        service=first.schedule(
            0 if accompanied else chosen.nice,
            first=before["first"] > 0,
            competes=competes and not threads,
            urgent=state.time_s < urgent_until_s,
        ),
        service_cpus=service_cpus,
        batch=_batch(state, growth["share"], weight, batch_cpus, idle=polite and not ranks),
    )
    return settings, {
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
    }


def _urgent_until_s(state: Seen, chosen: Parameters, verdict: Verdict, *, held_up: bool) -> float:
    """The time until which a service without reservations runs under SCHED_FIFO."""
    if held_up and verdict == "danger":
        return state.time_s + chosen.hold_s
    return state.memory.get("urgent_until_s", -math.inf)


def _shared(
    state: Seen, chosen: Parameters, use: dict[int, float]
) -> tuple[dict[int, float], float]:
    """CPU shares reserved for all critical threads together, and their period in seconds.

    Returns no shares and 0 if reservations would do harm. Any thread of a pool may take the next
    request, so all get the same share. Threads that use several times the mean or almost nothing
    are exceptions because they have another role, such as a master process. `use`: smoothed CPUs of
    each thread.
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
    """The reservations if the largest is nearly a whole CPU, and none otherwise.

    A thread with such a reservation is hardly ever throttled. Such reservations spread the threads
    over the CPUs at once, as SCHED_FIFO does. The fair class leaves two of them on one CPU for some
    milliseconds while batch work keeps the other CPU from being idle.
    """
    return shared if max(shared.values(), default=0.0) >= chosen.nearly_whole else {}


def _period_s(state: Seen, chosen: Parameters, least: float, used_cpus: float) -> float | None:
    """Period of all reservations in seconds, or None if they are too small for so many threads.

    A request would then need several periods. `least`: CPUs of the smallest reservation.
    `used_cpus`: CPUs that all critical threads use.
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


def _use(state: Seen, memory: Mapping[str, float], past_s: float) -> dict[int, float]:
    """CPUs used by each critical thread, smoothed with a time constant of 5 s."""
    part = min(1.0, past_s / 5.0)
    found = {}
    for thread in state.threads:
        before = memory.get(f"use:{thread.tid}", thread.cpus)
        found[thread.tid] = before + (thread.cpus - before) * part
    return found


def _ratio(state: Seen, memory: Mapping[str, float], past_s: float) -> float:
    """The quantile divided by the SLA's bound, smoothed with a time constant of 10 s."""
    if state.latency is None:
        return memory.get("ratio", 0.0) * math.exp(-past_s / 10.0)
    now = min(state.latency.quantile_s / state.sla.bound_s, 2.0)
    before = memory.get("ratio", now)
    return before + (now - before) * min(1.0, past_s / 10.0)


def _blame(
    state: Seen, chosen: Parameters, verdict: Verdict, ratio: float, past_s: float
) -> dict[str, float]:
    """Compare the quantile while the batch is unlimited and while it is shrunk.

    Both means decay with a time constant of 60 s. If a service is near its SLA by itself, shrinking
    the batch does not help; the batch is then left unlimited until `innocent_until_s`.
    """
    memory = state.memory
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
        until_s = -math.inf  # the load has changed, so the judgement no longer holds
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
    state: Seen,
    chosen: Parameters,
    verdict: Verdict,
    ratio: float,
    past_s: float,
    *,
    innocent: bool,
) -> dict[str, float]:
    """The batch's share of the machine, its upper limit, and the times at which either was cut."""
    memory = state.memory
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


def _settled_s(state: Seen, chosen: Parameters) -> float:
    """Seconds after a change until the latency window holds only later answers."""
    if state.latency is None or state.rate <= 0:
        return chosen.settle_s
    return min(max(chosen.settle_s, state.latency.n / state.rate), chosen.patience_s)


def _hopeless(state: Seen) -> bool:
    """Whether latency is so high that half the batch would certainly still violate the SLA."""
    return state.latency is not None and state.latency.low_s > 2 * state.sla.bound_s


def _batch(state: Seen, share: float, weight: int, cpus: tuple[int, ...], *, idle: bool) -> Batch:
    """Settings of the batch for this share of the machine; `idle` makes the whole group idle."""
    steps = math.floor(share / _STEP + 1e-9)
    return Batch(
        policy="idle" if idle else "other",
        idle=idle,
        weight=weight,
        quota_cpus=None if share >= _FULL or share <= 0 else max(steps, 1) * _STEP * state.cores,
        cpus=cpus,
        suspended=share <= 0,
    )
