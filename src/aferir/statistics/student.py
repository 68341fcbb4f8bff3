"""Welch's t test of two samples, from their moments.

Written out instead of taken from scipy, which warns about durations that agree to fifteen
digits: a simulator's do, and that is no error.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from aferir.statistics.arrays import Array


def welch(a: Array, b: Array) -> tuple[float, float]:
    """T and two-sided p value of equal means, variances free (Welch 1947); n >= 2 each."""
    parts = float(np.var(a, ddof=1)) / a.size, float(np.var(b, ddof=1)) / b.size
    freedom = satterthwaite(parts, (a.size - 1, b.size - 1))
    return two_sided(float(np.mean(a) - np.mean(b)), math.sqrt(sum(parts)), freedom)


def satterthwaite(parts: tuple[float, ...], freedoms: tuple[float, ...]) -> float:
    """Degrees of freedom of a sum of squared errors (Satterthwaite 1946)."""
    scatter = sum(part**2 / freedom for part, freedom in zip(parts, freedoms, strict=True))
    return sum(parts) ** 2 / scatter if scatter > 0 else min(freedoms)


def two_sided(difference: float, error: float, freedom: float) -> tuple[float, float]:
    """T and p value of a difference with its standard error."""
    if error == 0:
        return (math.copysign(math.inf, difference), 0.0) if difference else (0.0, 1.0)
    t = difference / error
    return t, 2 * float(special.stdtr(freedom, -abs(t)))
