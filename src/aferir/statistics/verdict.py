"""Derives a verdict from a ratio.

Two thresholds are distinguished. *Significant* means that the ratio is not 1; *practically
different* that it is far enough from 1 to matter. The absence of a significant difference does not
prove equality: only two one-sided tests (Schuirmann 1987) permit "no difference beyond x %". They
are made on typical repetitions and on the mean, and neither side may stall.
"""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from aferir.model.record import Warning
from aferir.statistics import distributions
from aferir.statistics.claims import ALPHA, FAMILY_ALPHA
from aferir.statistics.intervals import Interval
from aferir.statistics.ratio import Ratio

Outcome = Literal["higher", "lower", "stalls", "equivalent", "alike", "undecided", "unknown"]
"""`stalls`: one side stalls more often than the other, while typical repetitions do not differ.
`equivalent`: no difference beyond the margin in typical repetitions and in the mean, and no stalls
in enough repetitions to detect them. `alike`: only typical repetitions were shown to be equivalent.
`undecided`: the samples are compatible with a difference that matters and with none. `unknown`:
there is no ratio, or no interval.
"""


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions under which a difference, or its absence, is claimed."""

    level: float = 0.95
    """Confidence level of the reported intervals."""
    alpha: float = ALPHA
    """Largest p value of a claimed difference: up to four comparisons together err in at most 5 %
    of runs, and from five on Holm's adjustment is stricter.
    """
    family_alpha: float = FAMILY_ALPHA
    """Largest p value after Holm's adjustment over all comparisons of the run."""
    threshold: float = 0.01
    """Smallest relative difference that matters; 0.01 is 1 %."""
    margin: float = 0.03
    """Margin of the claim "no difference beyond"; both one-sided tests must reject at 5 %."""
    equivalence_alpha: float = 0.05
    stall_share: float = 0.10
    """To claim "no difference", there must be enough repetitions to have detected stalls in more
    than this share of them with 95 % confidence: for 10 %, 29 without a stall.
    """
    stall_alpha: float = 0.05
    """Largest p value (Fisher) with which one side is reported to stall more often."""


PRECISE = 0.5
"""A claimed difference is marked as imprecise if its interval extends further than this share of
it.
"""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Verdict on one ratio, and the rule by which it was reached."""

    ratio: float | None
    interval: Interval | None
    p_value: float | None
    p_adjusted: float | None
    """P value after Holm's adjustment; equal to `p_value` for a single test."""
    significant: bool
    practically_different: bool
    """True if the estimate is beyond the threshold, whether significant or not."""
    equivalent: bool
    """True if the sides are equivalent in typical repetitions and in the mean, and neither stalls.
    """
    equivalence_p: float | None
    """Larger p value of the two one-sided tests for typical repetitions against the margin."""
    mean_equivalence_p: float | None = None
    """Larger p value of the two one-sided tests of the means; None in files of earlier versions."""
    bound: float | None
    """Largest difference that the samples permit at the rule's level: the interval lies within 1/(1
    + bound) and 1 + bound.
    """
    outcome: Outcome
    rule: Rule
    warnings: tuple[Warning, ...] = ()


def decide(ratio: Ratio, rule: Rule | None = None, *, p_adjusted: float | None = None) -> Verdict:
    """Apply `rule` to a ratio; `p_adjusted` is its p value after Holm's adjustment.

    A difference is claimed if p <= alpha, adjusted p <= family_alpha, the interval excludes 1
    and the estimate is beyond the threshold. Otherwise stalls and then equivalence are tested.
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
    claimed = significant and different and not _holds_one(ratio.interval)
    equivalence_p = equivalence(ratio, rule.margin)
    mean_p = mean_equivalence(ratio, rule.margin)
    alike = equivalence_p is not None and equivalence_p <= rule.equivalence_alpha
    mean_alike = mean_p is not None and mean_p <= rule.equivalence_alpha
    equivalent = alike and mean_alike and stalls_excluded(ratio, rule)
    return Verdict(
        ratio=estimate,
        interval=ratio.interval,
        p_value=p_value,
        p_adjusted=adjusted,
        significant=significant,
        practically_different=different,
        equivalent=equivalent,
        equivalence_p=equivalence_p,
        mean_equivalence_p=mean_p,
        bound=_bound(ratio.interval),
        outcome=_outcome(ratio, rule, claimed=claimed, alike=alike, equivalent=equivalent),
        rule=rule,
        warnings=(*ratio.warnings, *(_exaggerated(ratio) if claimed else ())),
    )


def equivalence(ratio: Ratio, margin: float) -> float | None:
    """P value of two one-sided tests that the ratio lies within 1/(1 + margin) and 1 + margin.

    None if the ratio has no error on the logarithmic scale.
    """
    if ratio.estimate is None or ratio.log_error is None or ratio.freedom is None:
        return None
    distance = _distance(ratio.estimate) + ratio.rounding
    return _inside(distance, ratio.log_error, ratio.freedom, margin)


def mean_equivalence(ratio: Ratio, margin: float) -> float | None:
    """P value of the two one-sided tests for the ratio of means; None for too few samples."""
    if ratio.costs is None or ratio.costs.mean_error is None:
        return None
    costs = ratio.costs
    distance = _distance(costs.mean) + ratio.rounding
    return _inside(distance, ratio.costs.mean_error, costs.mean_freedom, margin)


def stalls_excluded(ratio: Ratio, rule: Rule) -> bool:
    """True if both sides stall in at most `rule.stall_share` of repetitions, at 95 %."""
    if ratio.costs is None:
        return False
    return max(ratio.costs.stalls.most, ratio.costs.stalls_baseline.most) <= rule.stall_share


def _inside(distance: float, error: float, freedom: float, margin: float) -> float:
    inside = math.log1p(margin) - distance
    if error == 0:
        return 0.0 if inside > 0 else 1.0
    return distributions.student(freedom, -inside / error)


def _holds_one(interval: Interval | None) -> bool:
    return interval is not None and interval.low <= 1 <= interval.high


def _distance(ratio: float) -> float:
    return abs(math.log(ratio)) if ratio > 0 else math.inf


def _bound(interval: Interval | None) -> float | None:
    if interval is None:
        return None
    low = 1 / interval.low if interval.low > 0 else math.inf
    return max(interval.high, low) - 1


def _outcome(ratio: Ratio, rule: Rule, *, claimed: bool, alike: bool, equivalent: bool) -> Outcome:
    if ratio.estimate is None or ratio.p_value is None:
        return "unknown"
    if claimed:
        return "higher" if ratio.estimate > 1 else "lower"
    if ratio.costs is not None and ratio.costs.stalls_p <= rule.stall_alpha:
        return "stalls"
    if equivalent:
        return "equivalent"
    return "alike" if alike else "undecided"


def _exaggerated(ratio: Ratio) -> tuple[Warning, ...]:
    """Warn of a barely significant, so probably overstated difference (Gelman and Carlin 2014)."""
    if ratio.interval is None or ratio.estimate is None or ratio.interval.low <= 0:
        return ()
    centre = math.log(ratio.estimate)
    half = max(math.log(ratio.interval.high) - centre, centre - math.log(ratio.interval.low))
    if half <= abs(centre) * PRECISE:
        return ()
    return (
        Warning(
            "exaggerated",
            "the difference is only just larger than chance: of such differences those that were "
            "overstated by chance are reported more often, so the true one is likely to be smaller",
            "repeat more often for its size; take the end of the interval nearer to 1 as certain",
        ),
    )
