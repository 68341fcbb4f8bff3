"""The batch's share of the machine: cut at once, grown slowly, and only if cutting helps.

Multiplicative decrease and additive increase (Chiu and Jain 1989). Two cuts are never closer than
the time in which the first shows in the latency window. If the service is as late with the batch
cut as without a cut, the batch is not the cause, and is not cut for a while.
"""

from __future__ import annotations

import math

import msgspec

from aferir.colocation.policies.aferir.signals import Signals
from aferir.colocation.policies.parameters import Parameters
from aferir.colocation.settings import State


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """Test of whether a cut of the batch lowers the quantile (here divided by the SLA's bound).

    `whole` and `use`: quantile, and the batch's share of the machine, at the cut; `seconds`: time
    observed since.
    """

    whole: float
    use: float
    seconds: float = 0.0
    total: float = 0.0
    """Integral of the quantile over `seconds`, in seconds."""


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """The batch's share of the machine (1: no limit, 0: suspended), and the history of its cuts."""

    share: float = 1.0
    ceiling: float = 1.0
    """Largest share to which the batch may grow; it falls while latency stays near the SLA."""
    cut_s: float = -math.inf
    changed_s: float = -math.inf
    why: str = ""
    trial: Trial | None = None
    innocent_until_s: float = -math.inf
    innocent_cpus: float = 0.0
    """CPUs that the service used when a trial showed that cutting the batch does not help."""


def settling_s(state: State, signals: Signals, chosen: Parameters) -> float:
    """Seconds after a change until the latency window holds only later answers.

    This is the length of the window, but at least 3.5 control periods and at most `patience_s`: two
    periods for the shortest window, one to measure, and one to apply, of which half is left for
    jitter.
    """
    window_s = state.latency.n / state.rate if state.latency and state.rate > 0 else 0.0
    return min(max(3.5 * signals.past_s, window_s), chosen.patience_s)


def control(
    state: State, signals: Signals, chosen: Parameters, before: Share, *, quiet_s: float
) -> Share:
    """Return the next share. `quiet_s`: seconds since the last cut or change of mode."""
    now_s = signals.time_s
    settled = quiet_s >= settling_s(state, signals, chosen)
    tried = _tried(state, signals, chosen, before) if settled else before
    if now_s < tried.innocent_until_s:
        return tried
    used = max(state.batch_cpus / state.cores, chosen.least_share)
    if signals.verdict == "danger":
        share = chosen.shrink * min(used, tried.share)
        hopeless = state.latency and chosen.shrink * state.latency.low_s > state.sla.bound_s
        share = 0.0 if hopeless or share < chosen.least_share else share
        cut = msgspec.structs.replace(tried, share=share, why=f"{state.worst_sla} was violated")
        return _noted(cut, tried, signals, used) if settled else tried
    if min(signals.ratio, signals.quantile) > chosen.caution:  # a third of a cut
        share = max((2 + chosen.shrink) / 3 * min(used, tried.share), chosen.least_share)
        why = f"{state.worst_sla} stayed near"
        cut = msgspec.structs.replace(tried, share=share, ceiling=share, why=why)
        return _noted(cut, tried, signals, used) if quiet_s >= 3 * chosen.patience_s else tried
    return _grown(signals, chosen, tried)


def _noted(cut: Share, before: Share, signals: Signals, use: float) -> Share:
    """Return the cut share with its time and a trial, or `before` if it is not smaller."""
    if cut.share >= before.share:
        return before
    now_s = signals.time_s
    trial = before.trial or Trial(whole=min(signals.quantile, 2.0), use=use)
    return msgspec.structs.replace(cut, cut_s=now_s, changed_s=now_s, trial=trial)


def _grown(signals: Signals, chosen: Parameters, before: Share) -> Share:
    """Raise the share up to its ceiling, and the ceiling more slowly, while the SLA is met."""
    share, ceiling = before.share, before.ceiling
    if signals.quantile < chosen.calm:
        slowly = chosen.grow_per_s * chosen.patience_s / chosen.hold_s
        ceiling = min(1.0, ceiling + slowly * signals.past_s)
    if signals.verdict == "calm" and signals.time_s - before.cut_s >= chosen.patience_s:
        grown = max(share, chosen.least_share) + chosen.grow_per_s * signals.past_s
        share = max(share, min(ceiling, grown))
    if share < 1 or before.share >= 1:
        return msgspec.structs.replace(before, share=share, ceiling=ceiling)
    return Share(cut_s=before.cut_s, changed_s=signals.time_s, why="the SLA was met again")


def _tried(state: State, signals: Signals, chosen: Parameters, before: Share) -> Share:
    """Judge whether the cut lowered the quantile; if it did not, leave the batch whole."""
    trial = before.trial
    if signals.time_s < before.innocent_until_s:
        more = state.service_cpus > before.innocent_cpus + chosen.headroom * state.cores
        return Share(cut_s=before.cut_s) if more else before
    if not trial or not state.latency or before.share > chosen.shrink * trial.use + 1e-9:
        return before
    seconds = trial.seconds + signals.past_s
    total = trial.total + signals.past_s * min(signals.quantile, 2.0)
    if seconds < 3 * chosen.patience_s:
        trial = msgspec.structs.replace(trial, seconds=seconds, total=total)
        return msgspec.structs.replace(before, trial=trial)
    if signals.verdict == "calm" or total < chosen.caution * trial.whole * seconds:
        again = Trial(whole=trial.whole, use=trial.use)
        return msgspec.structs.replace(before, trial=again)
    return Share(
        cut_s=before.cut_s,
        changed_s=signals.time_s,
        why="the service is as late without the batch",
        innocent_until_s=signals.time_s + chosen.longest_bar_s,
        innocent_cpus=state.service_cpus,
    )
