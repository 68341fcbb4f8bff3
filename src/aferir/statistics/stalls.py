"""Stalls: the share of far slower repetitions, their factor, and the effect on the mean.

A robust centre describes a typical repetition. If one repetition in three takes three times as
long, this must be reported too, from the same samples.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from aferir.statistics import distributions
from aferir.statistics.arrays import Array, exp, quantile
from aferir.statistics.intervals import LEAST, Interval, quantile_interval
from aferir.statistics.robust import locate, mean_location
from aferir.statistics.student import satterthwaite

LEAST_FACTOR = 1.1
"""Smallest ratio of a stalled repetition to a typical one; smaller ratios are noise."""
DEVIATIONS = 6.0
"""Number of standard deviations by which a stall must also exceed a typical repetition."""
UPPERS = (0.9, 0.75)
"""Upper quantiles that may be compared; the first whose interval n repetitions can bound is used.
"""
MINIMUM = 5


class Stalls(msgspec.Struct, frozen=True, kw_only=True):
    """Repetitions of one side that are far slower than the side's typical repetition."""

    n: int
    stalled: int
    share: Interval
    """Share of stalled repetitions with its interval (Clopper and Pearson 1934)."""
    most: float
    """One-sided 95 % upper limit of the share."""
    factor: float | None = None
    """Duration of stalled over typical repetitions (geometric means); None if none stalled."""
    factor_interval: Interval | None = None
    """Welch's interval of the factor on logarithms; None if fewer than two stalled."""


class Costs(msgspec.Struct, frozen=True, kw_only=True):
    """Differences beyond the typical repetition: stalls, ratios of means and of upper quantiles."""

    stalls: Stalls
    stalls_baseline: Stalls
    stalls_p: float
    """P value of the hypothesis that both sides stall equally often (Fisher's exact, two-sided)."""
    mean: float
    """Ratio of mean durations, in which all repetitions count."""
    mean_interval: Interval | None
    mean_error: float | None
    """Standard error of ln(mean)."""
    mean_freedom: float
    upper_quantile: float
    upper: float
    """Ratio of the quantiles of both sides at `upper_quantile`."""
    upper_interval: Interval | None
    """Distribution-free interval of `upper`, therefore wide; None if n is too small to bound any of
    `UPPERS`.
    """


def costs(values: Array, baseline: Array, *, paired: bool, level: float) -> Costs:
    """Compare stalls, means and upper quantiles of samples with those of a baseline.

    All samples are positive, at least one on each side; both sides have equal length if `paired`.
    """
    scale = max(_scale(values), _scale(baseline))
    one, other = (find_stalls(side, scale=scale, level=level) for side in (values, baseline))
    mean = float(values.mean() / baseline.mean())
    error, freedom = _mean_error(values, baseline, paired=paired)
    interval = None
    if error is not None:
        reach = distributions.student_quantile(freedom, (1 + level) / 2) * error
        interval = Interval(mean * math.exp(-reach), mean * exp(reach), level, "delta of means")
    share, bounds = _upper(values, baseline, level)
    return Costs(
        stalls=one,
        stalls_baseline=other,
        stalls_p=fisher(one.stalled, one.n, other.stalled, other.n),
        mean=mean,
        mean_interval=interval,
        mean_error=error,
        mean_freedom=freedom,
        upper_quantile=share,
        upper=_quantile_of(values, share) / _quantile_of(baseline, share),
        upper_interval=bounds,
    )


def find_stalls(values: Array, *, scale: float, level: float = 0.95) -> Stalls:
    """Find repetitions slower than typical by `LEAST_FACTOR` and by `DEVIATIONS` times `scale`.

    `scale` is the standard deviation of typical repetitions on logarithms.
    """
    n = values.size
    logs = np.log(values)
    typical = _mode(logs)
    limit = max(math.log(LEAST_FACTOR), DEVIATIONS * scale)
    beyond = logs > typical + limit
    slow = logs[beyond]
    share = _clopper_pearson(slow.size, n, level)
    most = distributions.beta_quantile(slow.size + 1, n - slow.size, 0.95) if slow.size < n else 1.0
    factor, interval = _factor(slow, logs[~beyond], level) if slow.size else (None, None)
    return Stalls(
        n=n,
        stalled=int(slow.size),
        share=share,
        most=most,
        factor=factor,
        factor_interval=interval,
    )


def _factor(slow: Array, typical: Array, level: float) -> tuple[float, Interval | None]:
    """Factor of the stalled repetitions over the others, from logarithms, at least one each."""
    above = mean_location(slow) if slow.size > 1 else None
    below = locate(typical)
    centre = float(slow.mean()) - (below.centre if below else float(typical.mean()))
    if above is None or below is None:
        return exp(centre), None
    parts = above.error**2, below.error**2
    freedom = satterthwaite(parts, (above.n - 1, below.n - 1))
    reach = distributions.student_quantile(freedom, (1 + level) / 2) * math.sqrt(sum(parts))
    return exp(centre), Interval(exp(centre - reach), exp(centre + reach), level, "Welch")


def fisher(k: int, n: int, j: int, m: int) -> float:
    """Two-sided p value of a difference between the shares k of n and j of m (Fisher 1935)."""
    both = k + j
    if both in (0, n + m):
        return 1.0
    least = max(0, both - m)
    x = np.arange(least, min(both, n) + 1, dtype=np.float64)
    chances = np.exp(
        distributions.log_choose(n, x)
        + distributions.log_choose(m, both - x)
        - distributions.log_choose(n + m, np.array([both * 1.0]))
    )
    here = chances[k - least]
    return float(min(1.0, chances[chances <= here * (1 + 1e-9)].sum()))


def _shortest_half(logs: Array) -> tuple[float, float]:
    ordered = np.sort(logs)
    h = logs.size // 2 + 1
    widths = ordered[h - 1 :] - ordered[: logs.size - h + 1]
    at = int(np.argmin(widths))
    return float(ordered[at]), float(ordered[at + h - 1])


def _mode(logs: Array) -> float:
    """Middle of the shortest interval that holds half of the repetitions."""
    low, high = _shortest_half(logs)
    return (low + high) / 2


def _scale(values: Array) -> float:
    """Standard deviation of typical repetitions on logarithms, from the shortest half.

    The correction for small samples was found by simulation of normal samples.
    """
    if values.size < MINIMUM:
        return math.inf
    low, high = _shortest_half(np.log(values))
    return (high - low) / (2 * 0.6745) * (1 + 1.5 / values.size)


def _clopper_pearson(k: int, n: int, level: float) -> Interval:
    tail = (1 - level) / 2
    low = distributions.beta_quantile(k, n - k + 1, tail) if k else 0.0
    high = distributions.beta_quantile(k + 1, n - k, 1 - tail) if k < n else 1.0
    return Interval(low, high, level, "Clopper-Pearson")


def _mean_error(a: Array, b: Array, *, paired: bool) -> tuple[float | None, float]:
    """Standard error of ln(mean a / mean b) by the delta method, and degrees of freedom."""
    if min(a.size, b.size) < LEAST:
        return None, 0.0
    above, below = a / a.mean(), b / b.mean()
    if paired:
        return float(np.std(above - below, ddof=1)) / math.sqrt(a.size), a.size - 1.0
    parts = float(above.var(ddof=1)) / a.size, float(below.var(ddof=1)) / b.size
    return math.sqrt(sum(parts)), satterthwaite(parts, (a.size - 1, b.size - 1))


def _quantile_of(values: Array, share: float) -> float:
    """Quantile of unsorted samples."""
    return quantile(np.sort(values).tolist(), share)


def _upper(a: Array, b: Array, level: float) -> tuple[float, Interval | None]:
    """Upper quantile that both sides can bound, and the distribution-free interval of its ratio."""
    each = math.sqrt(level)
    for share in UPPERS:
        one, other = quantile_interval(a, share, each), quantile_interval(b, share, each)
        if one is not None and other is not None:
            ends = one[0] / other[1], one[1] / other[0]
            return share, Interval(*ends, level, "order-statistics")
    return UPPERS[-1], None
