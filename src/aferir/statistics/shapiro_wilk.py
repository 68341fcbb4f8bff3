"""P value of the Shapiro-Wilk test, by Royston's approximation (1995, algorithm AS R94).

The same figures as `scipy.stats.shapiro`, without the import of `scipy.stats`, which would take a
third of the time of a short run and its report.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from aferir.statistics import distributions
from aferir.statistics.arrays import Array

# Coefficients of polynomials, constant term first; names as in AS R94.
_C1 = (0.0, 0.221157, -0.147981, -2.07119, 4.434685, -2.706056)
_C2 = (0.0, 0.042981, -0.293762, -1.752461, 5.682633, -3.582633)
_C3 = (0.5440, -0.39978, 0.025054, -6.714e-4)
_C4 = (1.3822, -0.77857, 0.062767, -0.0020322)
_C5 = (-1.5861, -0.31082, -0.083751, 0.0038915)
_C6 = (-0.4803, -0.082676, 0.0030302)
_G = (-2.273, 0.459)
_SMALL = 11
"""Largest n at which the distribution of W is approximated as that of a small sample."""


def p_value(values: Array) -> float:
    """P value of normality for 3 to 5000 finite values that are not all equal.

    It is 0 where so few values are further from normal than the approximation reaches.
    """
    n = values.size
    ordered = np.sort(values)
    centred = ordered - ordered.mean()
    weights = _weights(n)
    spread = math.sqrt(float(centred @ centred))
    share = float(weights @ centred) / spread
    # 1 - W, without the cancellation of W near 1.
    lack = max((1 - share) * (1 + share), 0.0)
    if n == 3:
        return max(6 / math.pi * (math.asin(min(share, 1.0)) - math.asin(math.sqrt(0.75))), 0.0)
    if lack == 0:
        return 1.0
    y = math.log(lack)
    if n <= _SMALL:
        gamma = _polynomial(_G, n)
        if y >= gamma:
            return 0.0
        y = -math.log(gamma - y)
        mean, deviation = _polynomial(_C3, n), math.exp(_polynomial(_C4, n))
    else:
        size = math.log(n)
        mean, deviation = _polynomial(_C5, size), math.exp(_polynomial(_C6, size))
    return distributions.normal((mean - y) / deviation)


@lru_cache(maxsize=64)
def _weights(n: int) -> Array:
    """The weights of n ordered values: of length 1, and each the opposite of its mirror image."""
    if n == 3:
        half = np.array([math.sqrt(0.5)])
    else:
        expected = -distributions.normal_quantiles(
            (np.arange(1.0, n // 2 + 1) - 0.375) / (n + 0.25)
        )
        squares = 2 * float(expected @ expected)
        root = 1 / math.sqrt(n)
        corrections = (_C1, _C2) if n > 5 else (_C1,)
        corrected = len(corrections)
        outer = [
            _polynomial(c, root) + m / math.sqrt(squares)
            for c, m in zip(corrections, expected.tolist(), strict=False)
        ]
        left = squares - 2 * float(expected[:corrected] @ expected[:corrected])
        scale = math.sqrt(left / (1 - 2 * sum(a**2 for a in outer)))
        half = np.concatenate([outer, expected[corrected:] / scale])
    middle = np.zeros(n % 2)
    return np.concatenate([-half, middle, half[::-1]])


def _polynomial(coefficients: tuple[float, ...], x: float) -> float:
    return sum(c * x**k for k, c in enumerate(coefficients))
