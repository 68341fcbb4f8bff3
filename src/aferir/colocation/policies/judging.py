"""Judgement of recent latency, and the explanation of the settings that follow from it."""

from __future__ import annotations

from typing import Literal

from aferir.colocation.settings import Explanation, Settings, State

Verdict = Literal["danger", "hold", "calm"]


def explained(
    settings: Settings, verdict: Verdict, before: Explanation, time_s: float
) -> Explanation:
    """Name the mode of these settings; unchanged while the mode is."""
    batch = settings.batch
    if batch.suspended or batch.quota_cpus is not None:
        mode = "suspended" if batch.suspended else "throttled"
    elif any(one.policy == "deadline" for one in settings.threads.values()):
        mode = "reserved"
    elif settings.service is not None and settings.service.policy == "fifo":
        mode = "first"
    elif batch.cpus:
        mode = "apart"
    else:
        mode = "yield" if batch.idle else "weighted"
    if mode == before.mode:
        return before
    why = {"danger": "the SLA was violated", "hold": "the quantile was near the SLA"}
    return Explanation(mode=mode, why=why.get(verdict, "the load changed"), since_s=time_s)


def judge(state: State) -> Verdict:
    """Judge recent latency: `danger` violates the SLA for certain, `hold` may, `calm` meets it.

    A violation is certain if the lower end of the quantile's 95 % interval is above the bound. A
    service that uses CPU but has answered nothing for 5 SLA bounds (at least 1 s) is in danger as
    well.
    """
    bound_s = state.sla.bound_s
    patience_s = max(1.0, 5 * bound_s)
    works = state.service_cpus > 0.05
    if state.silent_s > patience_s:
        return "danger" if works else "calm"  # the service hangs, or there are no requests
    if state.latency is None:
        return "hold" if works else "calm"
    if state.latency.low_s > bound_s:
        return "danger"
    return "hold" if state.latency.quantile_s > bound_s else "calm"
