"""From a ratio to what may be said about it.

Two thresholds are kept apart. *Significant* says that the ratio is not 1; *practically
different* that it is far enough from 1 to matter. And not finding a difference is not
finding none: only two one-sided tests (Schuirmann 1987) allow "no difference beyond x %".
"""

from __future__ import annotations

import math
from typing import Literal

import msgspec
from scipy import special

from aferir.model.record import Warning
from aferir.statistics.intervals import Interval
from aferir.statistics.ratio import Ratio

Outcome = Literal["higher", "lower", "equivalent", "undecided", "unknown"]
"""`undecided`: the samples allow both a difference that matters and none. `unknown`: there is
no ratio, or no interval."""


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """When a difference is claimed, and when its absence."""

    level: float = 0.95
    """Of the intervals that are shown."""
    alpha: float = 0.01
    """Largest p value of one comparison; far below 5 %, since a run makes many."""
    family_alpha: float = 0.05
    """Largest p value after Holm's adjustment over all comparisons of the run."""
    threshold: float = 0.01
    """Smallest difference that matters, 0.01 is 1 %."""
    margin: float = 0.03
    """"No difference beyond": both one-sided tests must reject at 5 %."""
    equivalence_alpha: float = 0.05


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What may be said about one ratio, and by which rule."""

    ratio: float | None
    interval: Interval | None
    p_value: float | None
    p_adjusted: float | None
    """After Holm over the family; equal to `p_value` where there is but one test."""
    significant: bool
    practically_different: bool
    """The estimate is beyond the threshold, whether significant or not."""
    equivalent: bool
    equivalence_p: float | None
    """Larger p value of the two one-sided tests against the margin."""
    bound: float | None
    """The interval lies within 1/(1 + bound) and 1 + bound: the largest difference that the
    samples allow at its level."""
    outcome: Outcome
    rule: Rule
    warnings: tuple[Warning, ...] = ()


def decide(ratio: Ratio, rule: Rule | None = None, *, p_adjusted: float | None = None) -> Verdict:
    """Apply `rule`; `p_adjusted` is this ratio's p value after Holm over the family.

    A difference is claimed where p <= alpha, adjusted p <= family_alpha, and the estimate is
    beyond the threshold. Otherwise equivalence is tried, and failing that nothing is claimed.
    """
    rule = rule or Rule()
    p_value = ratio.p_value
    adjusted = p_value if p_adjusted is None else p_adjusted
    significant = (
        p_value is not None
        and adjusted is not None
        and p_value <= rule.alpha
        and adjusted <= rule.family_alpha
    )
    estimate = ratio.estimate
    different = estimate is not None and _distance(estimate) > math.log1p(rule.threshold)
    equivalence_p = equivalence(ratio, rule.margin)
    equivalent = equivalence_p is not None and equivalence_p <= rule.equivalence_alpha
    return Verdict(
        ratio=estimate,
        interval=ratio.interval,
        p_value=p_value,
        p_adjusted=adjusted,
        significant=significant,
        practically_different=different,
        equivalent=equivalent,
        equivalence_p=equivalence_p,
        bound=_bound(ratio.interval),
        outcome=_outcome(estimate, p_value, significant and different, equivalent),
        rule=rule,
        warnings=ratio.warnings,
    )


def equivalence(ratio: Ratio, margin: float) -> float | None:
    """P value of two one-sided tests that the ratio lies within 1/(1 + margin) and 1 + margin.

    None where the ratio carries no error on the logarithmic scale.
    """
    if ratio.estimate is None or ratio.log_error is None or ratio.freedom is None:
        return None
    inside = math.log1p(margin) - _distance(ratio.estimate)
    if ratio.log_error == 0:
        return 0.0 if inside > 0 else 1.0
    return float(special.stdtr(ratio.freedom, -inside / ratio.log_error))


def _distance(ratio: float) -> float:
    return abs(math.log(ratio)) if ratio > 0 else math.inf


def _bound(interval: Interval | None) -> float | None:
    if interval is None:
        return None
    low = 1 / interval.low if interval.low > 0 else math.inf
    return max(interval.high, low) - 1


def _outcome(
    estimate: float | None, p_value: float | None, differs: bool, equivalent: bool
) -> Outcome:
    if estimate is None or p_value is None:
        return "unknown"
    if differs:
        return "higher" if estimate > 1 else "lower"
    return "equivalent" if equivalent else "undecided"
