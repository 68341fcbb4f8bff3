"""Ratios of two environments' samples, with their intervals.

By default they are computed on logarithms, where a ratio is a difference: exchanging the two sides
inverts the estimate and the interval exactly, and multiplicative noise (other load, a lower
frequency) becomes additive. docs/concepts/statistics.md states the assumptions of each interval and
p value.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from aferir.model.record import Warning
from aferir.statistics import distributions
from aferir.statistics.arrays import Array, Values, exp, paired_logs, positive_logs
from aferir.statistics.dependence import Dependence, dependence, doubts
from aferir.statistics.intervals import LEAST, Interval
from aferir.statistics.resolution import rounding_of_logs, step_of_logs
from aferir.statistics.robust import Location, locate, mean_location
from aferir.statistics.shift import MINIMUM as RANK_MINIMUM
from aferir.statistics.shift import normal_score, rank_p, shift
from aferir.statistics.stalls import Costs, costs
from aferir.statistics.student import satterthwaite
from aferir.statistics.tails import Tail, concentration, critical, two_sided

FREEDOM = 0.8
"""Degrees of freedom of a biweight per sample beyond the first: with them, Student's t matches the
biweight's 95 % quantile to within 2 %. Used to combine ratios; p values use the table.
"""
BETWEEN_SHAPES = 0.98
"""Factor by which intervals reduce the critical value for normal samples. Heavy-tailed samples need
a smaller critical value, and with this compromise the level of the interval holds for both to
within 2 %. P values use the critical value for normal samples.
"""
CAUTION = 1.1
"""Factor by which the lost weight is enlarged, since an outlying round may keep some weight if the
states of a sample are close to each other.
"""
_PAIRS = "pairs of repetitions"
AGREEMENT_ALPHA = 0.05
"""Largest probability that so many rounds agree by chance; above it the mean replaces the biweight.
"""


class Ratio(msgspec.Struct, frozen=True, kw_only=True):
    """Ratio values / baseline; 1.02 means that `values` are 2 % larger."""

    estimate: float | None
    """Estimated ratio; None if one side has no usable sample."""
    interval: Interval | None
    """Confidence interval; None if there are too few samples for one."""
    p_value: float | None
    """P value of the hypothesis that the ratio is 1."""
    n: int
    """Number of samples of `values`, or of pairs if paired."""
    n_baseline: int
    paired: bool
    method: str
    log_error: float | None = None
    """Standard error of ln(estimate), for combining ratios and for equivalence."""
    freedom: float | None = None
    ignored: int = 0
    """Number of samples or pairs without weight, because they are too far from the others."""
    worth: float | None = None
    """Effective number of independent pairs (or of samples of the smaller side) if successive
    values are correlated; None if no correlation was found.
    """
    rounding: float = 0.0
    """Largest error of ln(estimate) due to the resolution of the clock; included in the interval.
    """
    costs: Costs | None = None
    """Ratios of means, and stalls; None without samples."""
    warnings: tuple[Warning, ...] = ()


def paired_ratio(values: Values, baseline: Values, *, level: float = 0.95) -> Ratio:
    """Robust ratio of samples measured side by side: values[k] just before or after baseline[k].

    Biweight location of the log-ratios (`aferir.statistics.robust`), so that drift common to both
    sides of a pair cancels and an outlying pair has no weight; below n = 8 their mean, and below
    n = 3 without an interval. Errors: ValueError if the lengths differ.
    """
    above, below, warnings = paired_logs(values, baseline)
    logs = above - below
    place = locate(logs) if logs.size >= LEAST else None
    if place is None:
        lone = _no_interval(logs, logs.size, paired=True, warnings=warnings)
        return _with_costs(lone, above, below, level)
    ratio = typical_of_pairs(above, below, place, level=level, warnings=warnings)
    return _with_costs(ratio, above, below, level)


def typical_of_pairs(
    above: Array,
    below: Array,
    place: Location,
    *,
    level: float = 0.95,
    warnings: tuple[Warning, ...] = (),
) -> Ratio:
    """Ratio of a typical value of `above` to one of `below`, given as logarithms of pairs.

    `place` is `locate(above - below)`.
    """
    logs = above - below
    guard = concentration(place.n, CAUTION * place.lost)
    if guard > AGREEMENT_ALPHA and place.method == "biweight":
        mean = mean_location(logs)
        place = msgspec.structs.replace(mean, lost=place.lost, ignored=0)
    found = dependence(logs)
    rounding = rounding_of_logs(above, below)
    return _from_location(place, level, found=found, rounding=rounding, warnings=warnings)


def unpaired_ratio(values: Values, baseline: Values, *, level: float = 0.95) -> Ratio:
    """Ratio of two independent samples: the shift of the whole distribution on logarithms.

    Hodges-Lehmann estimate with the interval of Mann and Whitney (`aferir.statistics.shift`), which
    also holds for multimodal durations; below n = 5 on a side the ratio of geometric means, with
    Welch's t, and below n = 3 without an interval.
    """
    above, warnings_above = positive_logs(values)
    below, warnings_below = positive_logs(baseline)
    warnings = (*warnings_above, *warnings_below)
    least = min(above.size, below.size)
    if least < LEAST:
        logs = np.array([above.mean() - below.mean()]) if least else np.empty(0)
        lone = _no_interval(logs, below.size, paired=False, warnings=warnings)
        lone = msgspec.structs.replace(lone, n=above.size)
        return _with_costs(lone, above, below, level)
    ratio = typical_of_samples(above, below, level=level)
    ratio = msgspec.structs.replace(ratio, warnings=(*warnings, *ratio.warnings))
    return _with_costs(ratio, above, below, level)


def typical_of_samples(above: Array, below: Array, *, level: float = 0.95) -> Ratio:
    """Ratio of a typical value of `above` to one of `below`, two independent samples.

    They are given as logarithms, with n >= 2 each. Ranks are used, or means if either is small.
    """
    few = min(above.size, below.size) < RANK_MINIMUM
    return _of_means(above, below, level) if few else _of_ranks(above, below, level)


def at_level(ratio: Ratio, level: float) -> Interval | None:
    """Confidence interval of the ratio at another level; None if the ratio has no interval."""
    shown = ratio.interval
    if ratio.estimate is None or shown is None or ratio.freedom is None:
        return None
    half, given = (
        distributions.student_quantile(ratio.freedom, (1 + x) / 2) for x in (level, shown.level)
    )
    centre = math.log(ratio.estimate)
    low, high = (centre + (_log(end) - centre) * half / given for end in (shown.low, shown.high))
    return Interval(exp(low), exp(high), level, ratio.method)


def _from_location(
    place: Location,
    level: float,
    *,
    found: Dependence,
    rounding: float,
    warnings: tuple[Warning, ...],
) -> Ratio:
    """Make the ratio of pairs; correlated neighbours raise its error and lower the effective n.

    An effective n below `LEAST` is too few for an interval, as so many independent pairs would be.
    """
    tail: Tail = "biweight" if place.method == "biweight" else "t"
    worth = found.worth(place.n)
    if worth < LEAST:
        worth = max(worth, 1.0)
        return Ratio(
            estimate=exp(place.centre),
            interval=None,
            p_value=None,
            n=place.n,
            n_baseline=place.n,
            paired=True,
            method="none",
            worth=worth,
            warnings=(*warnings, *doubts(found, place.n, _PAIRS, None)),
        )
    error = place.error * math.sqrt(place.n / worth)
    # The tail of the biweight is tabulated for n >= 8; a smaller effective n uses Student's t.
    shape: Tail = tail if worth >= min(place.n, 8) else "t"
    distance = max(abs(place.centre) - rounding, 0.0)
    p_value = _p_value(shape, worth, distance, error)
    p_value = max(p_value, concentration(place.n, CAUTION * place.lost))
    if distance == 0:
        p_value = 1.0
    reach = critical(shape, worth, level) * (BETWEEN_SHAPES if shape == "biweight" else 1.0)
    half = reach * error + rounding
    method = f"{place.method} of paired log-ratios"
    freedom = (FREEDOM if tail == "biweight" else 1.0) * (worth - 1)
    return Ratio(
        estimate=exp(place.centre),
        interval=Interval(exp(place.centre - half), exp(place.centre + half), level, method),
        p_value=p_value,
        n=place.n,
        n_baseline=place.n,
        paired=True,
        method=method,
        log_error=error,
        freedom=freedom,
        ignored=place.ignored,
        worth=worth if found.certain else None,
        rounding=rounding,
        warnings=(
            *warnings,
            *_doubts(found, place.n, _PAIRS, p_value, _over(distance, place.error)),
            *((_constant(),) if place.error == 0 else ()),
        ),
    )


def _p_value(tail: Tail, worth: float, distance: float, error: float) -> float:
    if error == 0:
        return 0.0 if distance else 1.0
    return two_sided(tail, worth, distance / error)


def _of_ranks(above: Array, below: Array, level: float) -> Ratio:
    """Ratio by ranks, n >= 5 on each side; its error is that of a normal with the same interval."""
    n, m = above.size, below.size
    rounding = rounding_of_logs(above, below)
    place = shift(above, below, level=level, step=step_of_logs(above, below))
    found = max(
        dependence(above), dependence(below), key=lambda d: (d.certain, d.suspected, d.upper)
    )
    share = found.worth(1.0)
    stretch = 1 / math.sqrt(share)
    low = place.centre - (place.centre - place.low) * stretch - rounding
    high = place.centre + (place.high - place.centre) * stretch + rounding
    distance = max(abs(place.centre) - rounding, 0.0)
    p_value = rank_p(above, below, math.copysign(rounding, place.centre)) if distance else 1.0
    if found.certain:
        p_value = _normal_p(normal_score(p_value) / stretch)
    error = (place.high - place.low) / 2 / _normal_quantile(level)
    method = "Hodges-Lehmann shift of logarithms"
    return Ratio(
        estimate=exp(place.centre),
        interval=Interval(exp(low), exp(high), level, method),
        p_value=p_value,
        n=n,
        n_baseline=m,
        paired=False,
        method=method,
        log_error=error * stretch,
        freedom=float(n + m - 2) * share,
        worth=min(n, m) * share if found.certain else None,
        rounding=rounding,
        warnings=(
            *_doubts(found, min(n, m), "repetitions", p_value, _over(distance, error)),
            *((_constant(),) if np.ptp(above) == np.ptp(below) == 0 else ()),
        ),
    )


def _of_means(above: Array, below: Array, level: float) -> Ratio:
    """Ratio by Welch's t, for n >= 2 on both sides; p is at least that of a permutation test."""
    n, m = above.size, below.size
    centre = float(above.mean() - below.mean())
    parts = float(above.var(ddof=1)) / n, float(below.var(ddof=1)) / m
    error, freedom = math.sqrt(sum(parts)), satterthwaite(parts, (n - 1, m - 1))
    rounding = rounding_of_logs(above, below)
    distance = max(abs(centre) - rounding, 0.0)
    p_value = _p_value("t", freedom + 1, distance, error)
    half = critical("t", freedom + 1, level) * error + rounding
    method = "means of logarithms"
    return Ratio(
        estimate=exp(centre),
        interval=Interval(exp(centre - half), exp(centre + half), level, method),
        p_value=max(p_value, 2 / math.comb(n + m, n)) if distance else 1.0,
        n=n,
        n_baseline=m,
        paired=False,
        method=method,
        log_error=error,
        freedom=freedom,
        rounding=rounding,
        warnings=(_constant(),) if error == 0 else (),
    )


def _with_costs(ratio: Ratio, above: Array, below: Array, level: float) -> Ratio:
    if not (above.size and below.size):
        return ratio
    found = costs(np.exp(above), np.exp(below), paired=ratio.paired, level=level)
    return msgspec.structs.replace(ratio, costs=found)


def _doubts(
    found: Dependence, n: int, what: str, p_value: float, score: float
) -> tuple[Warning, ...]:
    """Warn if correlation is suspected, or if a claimed difference depends on independence."""
    return doubts(found, n, what, score if p_value <= AGREEMENT_ALPHA else None)


def _over(distance: float, error: float) -> float:
    return distance / error if error else math.inf


def _normal_quantile(level: float) -> float:
    return distributions.normal_quantile((1 + level) / 2)


def _normal_p(score: float) -> float:
    return 2 * distributions.normal(-score)


def _log(x: float) -> float:
    return math.log(x) if x > 0 else -745.0


def _no_interval(
    logs: Array, n_baseline: int, *, paired: bool, warnings: tuple[Warning, ...]
) -> Ratio:
    few = Warning(
        "too-few",
        f"a ratio of {logs.size} pair{'s' if logs.size != 1 else ''} has no interval"
        if paired
        else f"a ratio takes {LEAST} samples on each side for an interval",
        "repeat at least 8 times",
    )
    return Ratio(
        estimate=math.exp(float(logs.mean())) if logs.size else None,
        interval=None,
        p_value=None,
        n=logs.size,
        n_baseline=n_baseline,
        paired=paired,
        method="none",
        warnings=(*warnings, few),
    )


def _constant() -> Warning:
    return Warning(
        "constant",
        "the samples do not vary at all, so the interval has no width",
        "check that the metric is measured, not configured, and its resolution",
    )
