"""Confidence intervals of one sample's mean and median.

The interval of the median is the one from order statistics (Le Boudec 2010, Theorem 2.1), which
assumes nothing about the distribution.
"""

from __future__ import annotations

import math
from functools import lru_cache

import msgspec
import numpy as np

from aferir.statistics import distributions
from aferir.statistics.arrays import Array, Values, finite

LEAST = 3
"""Smallest number of values for an interval of a mean. Two have one degree of freedom: Student's t
then reaches 12.7 standard errors to each side, which tells a reader nothing.
"""


class Interval(msgspec.Struct, frozen=True):
    """A two-sided confidence interval, in the unit of the samples."""

    low: float
    high: float
    level: float
    """Nominal coverage, e.g. 0.95; for `median_interval` the exact coverage."""
    method: str

    def contains(self, value: float) -> bool:
        """True if `value` lies inside, ends included."""
        return self.low <= value <= self.high


def around(
    centre: float, standard_error: float, freedom: float, level: float, method: str
) -> Interval:
    """Interval centre ± t · standard error; `freedom` (degrees of freedom) may be fractional."""
    half = distributions.student_quantile(freedom, (1 + level) / 2) * standard_error
    return Interval(centre - half, centre + half, level, method)


def mean_interval(values: Values, *, level: float = 0.95) -> Interval | None:
    """Student's t interval of the mean; None if n < `LEAST`."""
    array, _ = finite(values)
    if array.size < LEAST:
        return None
    error = float(np.std(array, ddof=1)) / math.sqrt(array.size)
    return around(float(np.mean(array)), error, array.size - 1, level, "t")


def quantile_interval(values: Array, quantile: float, level: float) -> tuple[float, float] | None:
    """Distribution-free interval of a quantile (David and Nagaraja 2003, 7.1); None for small n."""
    low, high = _ranks_around(values.size, quantile, level)
    if high > values.size or low < 1:
        return None
    ordered = np.sort(values)
    return float(ordered[low - 1]), float(ordered[high - 1])


@lru_cache(maxsize=1024)
def _ranks_around(n: int, quantile: float, level: float) -> tuple[int, int]:
    """Ranks (from 1) of the samples that bound a quantile; below 1 or above n if n is too small."""
    tail = (1 - level) / 2
    covered = distributions.binomials(n, quantile)
    # X(low) > quantile with probability P(B < low); X(high) < quantile with P(B >= high).
    high = int(np.searchsorted(covered, 1 - tail)) + 1
    return int(np.searchsorted(covered, tail, side="right")), high


def median_interval(values: Values, *, level: float = 0.95) -> Interval | None:
    """Distribution-free interval of the median: from the k-th smallest to the k-th largest.

    k is the largest one with a binomial coverage of at least `level`. None if even the whole range
    (k = 1) covers less, as it does for n < 6 at 95 %.
    """
    array, _ = finite(values)
    n = array.size
    k, covered = _rank(n, level)
    if k == 0:
        return None
    ordered = np.sort(array)
    return Interval(float(ordered[k - 1]), float(ordered[n - k]), covered, "order-statistics")


@lru_cache(maxsize=256)
def _rank(n: int, level: float) -> tuple[int, float]:
    """Rank k of `median_interval`, and its coverage; k is 0 if there is none. Cached by n."""
    for k in range(n // 2, 0, -1):
        # P(X(k) <= median < X(n-k+1)) with B ~ Binomial(n, 1/2).
        covered = 1 - 2 * distributions.binomial(k - 1, n, 0.5)
        if covered >= level:
            return k, covered
    return 0, 0.0
