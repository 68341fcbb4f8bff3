"""Shift of the whole distribution between two independent samples.

Hodges and Lehmann 1963: the median of all differences, with the interval that inverts the test of
Mann and Whitney 1947 (Hollander and Wolfe 1999, section 4.2). It is exact for *any* continuous
shape that both sides share, whether it has one mode or several: only ranks matter.
"""

from __future__ import annotations

import math
from functools import lru_cache

import msgspec
import numpy as np

from aferir.statistics import distributions
from aferir.statistics.arrays import Array, quantile

EXACT = 3600
"""Largest n x m for which the exact distribution of Mann and Whitney's U is used; above it, a
normal one.
"""
MINIMUM = 5
"""Smallest n on each side: with four and four samples no p value is below 2.9 %."""


class Shift(msgspec.Struct, frozen=True):
    """Difference of two samples with its interval."""

    centre: float
    low: float
    high: float


def shift(a: Array, b: Array, *, level: float, step: float = 0.0) -> Shift:
    """Median difference a - b and its interval at `level`.

    Both samples need at least `MINIMUM` values. `step` is the resolution of a and b: differences
    tied by rounding are spread evenly over one step, since the unrounded values differed.
    """
    differences = _spread(np.sort((a[:, None] - b[None, :]).ravel()), step)
    size = differences.size
    tied = _tied(np.concatenate([a - np.median(a), b - np.median(b)])) if step > 0 else 1.0
    # Number of differences outside the interval at either end, with a fraction of the next one.
    left = size / 2 - (size / 2 - _left_out(a.size, b.size, (1 - level) / 2)) * tied
    at = np.arange(1, size + 1)
    low, high = np.interp([left + 0.5, size - left + 0.5], at, differences)
    return Shift(quantile(differences.tolist(), 0.5), float(low), float(high))


def rank_p(a: Array, b: Array, by: float = 0.0) -> float:
    """Two-sided p value of the hypothesis that a is larger than b by `by`; ties count half."""
    differences = a[:, None] - b[None, :] - by
    nothing = 1e-12 * max(float(np.abs(differences).max()), 1e-300)
    equal = float((np.abs(differences) <= nothing).sum())
    above = float((differences > nothing).sum()) + equal / 2
    middle = differences.size / 2
    tied = _tied(np.concatenate([a - by, b])) if equal else 1.0
    if tied == 0:
        return 1.0
    least = max(middle - abs(above - middle) / tied, 0.0)
    return min(1.0, 2 * _at_most(a.size, b.size, least))


def _tied(values: Array) -> float:
    """Ratio of U's standard deviation with ties to that without (Hollander and Wolfe 1999)."""
    ordered = np.sort(values)
    apart = np.diff(ordered) > 1e-9 * max(float(np.ptp(values)), 1e-300)
    starts = np.concatenate([[0], np.flatnonzero(apart) + 1, [ordered.size]])
    sizes = np.diff(starts).astype(np.float64)
    n = values.size
    return math.sqrt(max(1 - float((sizes**3 - sizes).sum()) / (n**3 - n), 0.0))


def normal_score(p_value: float) -> float:
    """Standard normal |z| of a two-sided p value."""
    return -distributions.normal_quantile(max(p_value, 1e-300) / 2)


def _at_most(n: int, m: int, u: float) -> float:
    """Probability that Mann and Whitney's U is at most u, interpolated between integers."""
    if n * m > EXACT:
        deviation = math.sqrt(n * m * (n + m + 1) / 12)
        return distributions.normal((u + 0.5 - n * m / 2) / deviation)
    table = _cumulative(min(n, m), max(n, m))
    return float(np.interp(u, np.arange(table.size), table))


def _left_out(n: int, m: int, tail: float) -> float:
    """Largest u with P(U <= u - 1/2) = `tail`, interpolated; U is Mann and Whitney's statistic."""
    if n * m > EXACT:
        deviation = math.sqrt(n * m * (n + m + 1) / 12)
        return float(n * m / 2 + distributions.normal_quantile(tail) * deviation)
    table = _cumulative(min(n, m), max(n, m))
    return float(np.interp(tail, table, np.arange(table.size) + 0.5))


@lru_cache(maxsize=1024)
def _cumulative(n: int, m: int) -> Array:
    """P(U <= u) for u = 0 ... n m: coefficients of the Gaussian binomial (Mann and Whitney)."""
    counts = [1] + [0] * (n * m)
    for i in range(1, n + 1):
        for u in range(n * m, m + i - 1, -1):
            counts[u] -= counts[u - m - i]
        for u in range(i, n * m + 1):
            counts[u] += counts[u - i]
    total = math.comb(n + m, n)
    cumulative: Array = np.cumsum(np.array([count / total for count in counts]))
    return np.minimum(cumulative, 1.0)


def _spread(ordered: Array, step: float) -> Array:
    """Sort the differences, and spread equal ones evenly over one step."""
    if step <= 0:
        return ordered
    close = np.diff(ordered) <= 1e-9 * max(step, 1e-300)
    starts = np.concatenate([[0], np.flatnonzero(~close) + 1])
    sizes = np.diff(np.concatenate([starts, [ordered.size]]))
    place = np.arange(ordered.size) - np.repeat(starts, sizes)
    share = (place + 0.5) / np.repeat(sizes, sizes) - 0.5
    moved: Array = np.sort(ordered + step * share)
    return moved
