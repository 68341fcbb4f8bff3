"""Derives signals from observations: smoothed figures, judgements of latency, and holds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal, get_args

import msgspec

from aferir.colocation.policies.aferir.timing import Hold, smooth
from aferir.colocation.policies.parameters import Parameters
from aferir.colocation.settings import ServiceState, State

Verdict = Literal["danger", "hold", "calm"]
"""Judgements of the service's latency, the gravest first."""


class Signals(msgspec.Struct, frozen=True, kw_only=True):
    """Observations at one decision, smoothed over the earlier ones."""

    time_s: float
    began_s: float
    """Time of the first decision."""
    past_s: float = 0.0
    """Seconds since the last decision, at most 1."""
    verdict: Verdict = "calm"
    quantile: float = math.inf
    """Quotient of latency quantile and SLA's bound, the largest of all services; infinite if a
    service works but its latency is unknown.
    """
    ratio: float = 0.0
    """Latency quantile divided by the SLA's bound, smoothed; it begins at 0."""
    late: bool = False
    """Whether the SLA is certainly violated, or the smoothed quantile above `caution`."""
    load: float = 0.0
    """CPUs that the service uses, smoothed over a quarter of `patience_s`; `used` is the same,
    smoothed over twice `patience_s`, about the time over which its rate is measured.
    """
    used: float = 0.0
    busy: float = 0.0
    """CPUs that the batch uses."""
    idle: float = 0.0
    others: float = 0.0
    """CPUs of processes that are neither service nor batch and have no reservation."""
    threads: Mapping[int, float] = MappingProxyType({})
    """CPUs that each critical thread (tid) uses."""
    lately: Hold = Hold()
    """Whether the service is, or was recently, late."""
    company: Hold = Hold()
    """Whether other processes use, or recently used, more than the system's own housekeeping
    does."""
    beset: Hold = Hold()
    """Whether other processes compete for the CPUs, or recently did."""


def time_constants(chosen: Parameters) -> dict[str, float]:
    """Time constants of everything that is smoothed, in seconds."""
    return {
        "load": chosen.patience_s / 4,
        "busy": chosen.patience_s / 4,
        "idle": chosen.patience_s,
        "used": 2 * chosen.patience_s,
        "others": 2 * chosen.patience_s,
        "threads": chosen.hold_s / 2,
        "ratio": chosen.hold_s / 2,
    }


def observe(state: State, before: Signals | None, chosen: Parameters) -> Signals:
    """Derive the signals of this decision from the observed state."""
    old = before or Signals(time_s=state.time_s, began_s=state.time_s)
    now_s, cores, spans_s = state.time_s, state.cores, time_constants(chosen)
    past_s = max(0.0, min(now_s - old.time_s, 1.0))
    seen_s = now_s - old.began_s
    # The mean since the start until the time constant has passed, exponential afterwards.
    over = {name: min(max(seen_s, past_s), span_s) for name, span_s in spans_s.items()}
    known = 0.0 if state.ratio is None else min(state.ratio, 2.0)
    ratio = smooth(old.ratio, known, past_s, spans_s["ratio"])
    verdict = _gravest([judge(one, chosen) for one in state.each])
    late = verdict == "danger" or ratio > chosen.caution
    used = smooth(old.used, state.service_cpus, past_s, over["used"])
    others = smooth(old.others, others_cpus(state), past_s, over["others"])
    judged = seen_s >= chosen.patience_s
    little = max(chosen.company * (1 - used / cores), chosen.least_share * cores)
    much = little if old.beset.active else max(little, chosen.company * cores)
    return Signals(
        time_s=now_s,
        began_s=old.began_s,
        past_s=past_s,
        verdict=verdict,
        quantile=_quantile(state, chosen),
        ratio=ratio,
        late=late,
        load=smooth(old.load, state.service_cpus, past_s, over["load"]),
        used=used,
        busy=smooth(old.busy, state.batch_cpus, past_s, over["busy"]),
        idle=smooth(old.idle, state.idle_cpus, past_s, over["idle"]),
        others=others,
        threads={
            one.tid: smooth(old.threads.get(one.tid, one.cpus), one.cpus, past_s, over["threads"])
            for one in state.threads
        },
        lately=old.lately.observe(now_s, chosen.hold_s, cause=late),
        company=old.company.observe(now_s, chosen.hold_s, cause=judged and others > little),
        beset=old.beset.observe(now_s, chosen.hold_s, cause=judged and others > much),
    )


def _quantile(state: State, chosen: Parameters) -> float:
    """Quantile over bound of the service worst off; ignores services without requests."""
    unknown = any(one.ratio is None and judge(one, chosen) != "calm" for one in state.each)
    return math.inf if unknown or state.ratio is None else state.ratio


def _gravest(verdicts: Sequence[Verdict]) -> Verdict:
    return min(verdicts, key=get_args(Verdict).index)


def judge(state: ServiceState, chosen: Parameters) -> Verdict:
    """Judge whether the SLA is violated: certainly (`danger`), perhaps (`hold`) or not (`calm`).

    A violation is certain if the lower end of the quantile's 95 % interval is above the bound. A
    service that uses CPU but has answered nothing for 5 SLA bounds is in danger as well.
    """
    bound_s = state.sla.bound_s
    works = state.service_cpus > chosen.least_share
    if state.silent_s > max(chosen.patience_s, 5 * bound_s):
        return "danger" if works else "calm"  # the service hangs, or there are no requests
    if state.latency is None:
        return "hold" if works else "calm"
    if state.latency.low_s > bound_s:
        return "danger"
    return "hold" if state.latency.quantile_s > bound_s else "calm"


def others_cpus(state: State) -> float:
    """CPUs used by processes that are neither service nor batch and have no reservation."""
    used = state.cores - state.idle_cpus - state.steal_cpus - state.others_reserved_cpus
    return max(used - state.service_cpus - state.batch_cpus, 0.0)
