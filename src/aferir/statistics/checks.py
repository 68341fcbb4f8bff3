"""Checks one sample for outliers, autocorrelation, non-normality and drift.

All of them expect samples in the order of measurement. They warn at a significance of 1 %, not 5 %:
a report makes dozens of checks, and a warning that is often false is not read.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import lru_cache

import msgspec
import numpy as np

from aferir.model.record import Warning
from aferir.statistics import distributions, shapiro_wilk
from aferir.statistics.arrays import Array, Values, finite, quantile
from aferir.statistics.intervals import LEAST

SIGNIFICANCE = 0.01
OUTLIER_SCORE = 3.5
"""Threshold of the modified z score (Iglewicz and Hoaglin 1993)."""
OUTLIER_MINIMUM = 5
NORMALITY_MINIMUM, NORMALITY_MAXIMUM = 3, 5000
"""Smallest and largest n for the Shapiro-Wilk test: below 3 it is not defined, above 5000 its p
value is not accurate.
"""
NORMALITY_POWER = 8
"""Smallest n at which a passed test is reported: with fewer samples, Shapiro-Wilk rejects too
rarely.
"""
_KENDALL_EXACT = 33
"""Largest n for an exact p value; above it, and with ties, the normal approximation is used."""
ORDER_MINIMUM = 10
"""Smallest n for autocorrelation and drift: fewer samples cannot distinguish them from chance."""


class Outliers(msgspec.Struct, frozen=True):
    """Samples far from the others."""

    indices: tuple[int, ...]
    """Positions of the outliers among the finite samples."""
    slow: int
    """Number of outliers above the median."""
    warnings: tuple[Warning, ...] = ()


class Autocorrelation(msgspec.Struct, frozen=True):
    """Correlation of each sample with the next one."""

    lag_1: float | None
    bound: float | None
    """Bound that |lag_1| exceeds in 1 of 100 sequences of independent values (Bartlett 1946)."""
    ljung_box_p: float | None
    """P value for lags 1 to min(5, n / 4) together (Ljung and Box 1978)."""
    warnings: tuple[Warning, ...] = ()


class Normality(msgspec.Struct, frozen=True):
    """Result of the normality test of Shapiro and Wilk (1965)."""

    p_value: float | None
    """P value of normality; None outside 3 <= n <= 5000, or if all samples are equal."""
    normal: bool | None
    """True for p >= 5 %; None if the test cannot decide, as for n < 8."""
    warnings: tuple[Warning, ...] = ()


class Drift(msgspec.Struct, frozen=True):
    """Trend of the samples over the run (Mann 1945, Kendall 1938)."""

    tau: float | None
    p_value: float | None
    warnings: tuple[Warning, ...] = ()


def outliers(values: Values) -> Outliers:
    """Outliers by a modified z score above 3.5 (Iglewicz and Hoaglin 1993).

    The score uses the median absolute deviation. If more than half of the samples are equal, it is
    zero, and Tukey's far fences (3 interquartile ranges) are used instead. No outliers below n = 5.
    """
    array, _ = finite(values)
    if array.size < OUTLIER_MINIMUM:
        return Outliers((), 0)
    ordered = sorted(array.tolist())
    median = quantile(ordered, 0.5)
    deviation = quantile(sorted(np.abs(array - median).tolist()), 0.5)
    if deviation > 0:
        far = 0.6745 * np.abs(array - median) > OUTLIER_SCORE * deviation
    else:
        low, high = quantile(ordered, 0.25), quantile(ordered, 0.75)
        reach = 3 * (high - low)
        far = (array < low - reach) | (array > high + reach)
    indices = tuple(int(i) for i in np.flatnonzero(far))
    slow = int((array[far] > median).sum())
    if not indices:
        return Outliers((), 0)
    return Outliers(indices, slow, (_outlier_warning(len(indices), slow, array.size),))


def autocorrelation(values: Values) -> Autocorrelation:
    """Lag-1 autocorrelation with its bound, and the Ljung-Box test; all None below n = 10."""
    array, _ = finite(values)
    n = array.size
    if n < ORDER_MINIMUM or np.ptp(array) == 0:
        return Autocorrelation(None, None, None)
    centred = array - array.mean()
    power = float((centred**2).sum())
    lags = min(5, n // 4)
    r = [float((centred[k:] * centred[:-k]).sum()) / power for k in range(1, lags + 1)]
    q = n * (n + 2) * sum(x**2 / (n - k) for k, x in enumerate(r, start=1))
    p_value = distributions.above_chi_squared(lags, q)
    bound = -distributions.normal_quantile(SIGNIFICANCE / 2) / math.sqrt(n)
    if p_value >= SIGNIFICANCE:
        return Autocorrelation(r[0], bound, p_value)
    lag = max(range(1, lags + 1), key=lambda k: abs(r[k - 1]))
    warning = Warning(
        "autocorrelated",
        f"repetitions depend on those before (r = {r[lag - 1]:.2f} at lag {lag}, "
        f"Ljung-Box p = {p_value:.2g}, n = {n}), and intervals are those of independent ones",
        "spread the repetitions over more time, or repeat the whole run",
    )
    return Autocorrelation(r[0], bound, p_value, (warning,))


def normality(values: Values) -> Normality:
    """Shapiro-Wilk test of normality."""
    array, _ = finite(values)
    n = array.size
    if not NORMALITY_MINIMUM <= n <= NORMALITY_MAXIMUM or np.ptp(array) == 0:
        return Normality(None, None)
    # The test does not depend on the scale, but squares of tiny ranges would be zero.
    p_value = shapiro_wilk.p_value((array - array.min()) / np.ptp(array))
    if n < NORMALITY_POWER:
        return Normality(p_value, None)
    warnings: tuple[Warning, ...] = ()
    if p_value < SIGNIFICANCE:
        warnings = (
            Warning(
                "not-normal",
                f"the samples are not normally distributed (Shapiro-Wilk p = {p_value:.2g}, "
                f"n = {n})",
                "trust the median and the robust ratio more than mean and standard deviation",
            ),
        )
    return Normality(p_value, p_value >= 0.05, warnings)


def drift(values: Values) -> Drift:
    """Kendall's tau of the samples against their order; None below n = 10."""
    array, _ = finite(values)
    if array.size < ORDER_MINIMUM or np.ptp(array) == 0:
        return Drift(None, None)
    tau, p_value = _kendall(array)
    warnings: tuple[Warning, ...] = ()
    if p_value < SIGNIFICANCE:
        trend = "rise" if tau > 0 else "fall"
        warnings = (
            Warning(
                "drift",
                f"the samples {trend} over the run (Kendall tau = {tau:.2f}, p = {p_value:.2g}, "
                f"n = {array.size})",
                "warm up longer, or look at frequency and other load; paired ratios cancel "
                "drift that hits all environments alike",
            ),
        )
    return Drift(tau, p_value, warnings)


def _kendall(array: Array) -> tuple[float, float]:
    """Kendall's tau of the samples against their order, and its p value.

    The figures of `scipy.stats.kendalltau`, without the import of `scipy.stats`, which would take
    half the time of a report. Up to 33 samples without ties use a cached exact distribution: scipy
    computes it anew each time.
    """
    n = array.size
    if n > _KENDALL_EXACT:
        discordant = sum(int(np.count_nonzero(array[k] > array[k:])) for k in range(n))
    else:  # plain numbers: a call of numpy takes longer than so few comparisons
        order = array.tolist()
        discordant = sum(before > after for k, before in enumerate(order) for after in order[k:])
    pairs = n * (n - 1) // 2
    ties = [ties for ties in Counter(array.tolist()).values() if ties > 1]
    if not ties and n <= _KENDALL_EXACT:
        tail = _inversions_at_most(n)[min(discordant, pairs - discordant)]
        return 1 - 2 * discordant / pairs, min(1.0, 2 * tail)
    comparable = pairs - sum(t * (t - 1) // 2 for t in ties)
    score = comparable - 2 * discordant
    variance = (n * (n - 1) * (2 * n + 5) - sum(t * (t - 1) * (2 * t + 5) for t in ties)) / 18
    p_value = 2 * distributions.normal(-abs(score) / math.sqrt(variance))
    return score / math.sqrt(pairs * comparable), p_value


@lru_cache(maxsize=_KENDALL_EXACT)
def _inversions_at_most(n: int) -> tuple[float, ...]:
    """For each k, the share of permutations of n values with up to k inversions (Kendall 1938)."""
    shares = np.ones(1)
    for k in range(2, n + 1):
        shares = np.convolve(shares, np.full(k, 1 / k))
    return tuple(np.cumsum(shares).tolist())


def all_warnings(values: Values) -> tuple[Warning, ...]:
    """Collect the warnings of every check; works with any number of samples, even equal ones.

    No samples are no result, not a doubtful one, and have no warning of their own.
    """
    array, warnings = finite(values)
    if array.size == 0:
        return warnings
    if array.size < LEAST:
        few = Warning(
            "too-few",
            f"n = {array.size} is too few to say how far they spread",
            "repeat at least 8 times",
        )
        return (*warnings, few)
    if np.ptp(array) == 0:
        same = Warning(
            "constant",
            f"all {array.size} samples are alike",
            "check that the metric is measured, not configured, and its resolution",
        )
        return (*warnings, same)
    return (
        *warnings,
        *outliers(array).warnings,
        *normality(array).warnings,
        *autocorrelation(array).warnings,
        *drift(array).warnings,
    )


def _outlier_warning(count: int, slow: int, n: int) -> Warning:
    lie = "lies" if count == 1 else "lie"
    return Warning(
        "outliers",
        f"{count} of {n} samples {lie} far from the others ({slow} above, {count - slow} below)",
        "look for other load on the machine; the paired ratio gives such samples little weight",
    )
