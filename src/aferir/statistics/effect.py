"""Effect sizes: how far two samples are apart, whatever their unit."""

from __future__ import annotations

import math

import numpy as np

from aferir.statistics.arrays import Values, finite


def hedges_g(values: Values, baseline: Values) -> float | None:
    """Difference of means in pooled standard deviations, corrected for small n (Hedges 1981).

    None where either n < 2; ±infinity where nothing varies and the means differ.
    """
    a, _ = finite(values)
    b, _ = finite(baseline)
    if a.size < 2 or b.size < 2:
        return None
    freedom = a.size + b.size - 2
    squares = float(((a - a.mean()) ** 2).sum() + ((b - b.mean()) ** 2).sum())
    difference = float(a.mean() - b.mean())
    if squares == 0:
        return math.copysign(math.inf, difference) if difference else 0.0
    return difference / math.sqrt(squares / freedom) * (1 - 3 / (4 * freedom - 1))


def cliffs_delta(values: Values, baseline: Values) -> float | None:
    """P(a > b) - P(a < b) for one sample of each (Cliff 1993), from -1 to 1.

    None where either is empty.
    """
    a, _ = finite(values)
    b, _ = finite(baseline)
    if a.size == 0 or b.size == 0:
        return None
    return float(np.sign(a[:, None] - b[None, :]).mean())


def a12(values: Values, baseline: Values) -> float | None:
    """P(a > b) + P(a = b) / 2 (Vargha and Delaney 2000), from 0 to 1; None as above."""
    delta = cliffs_delta(values, baseline)
    return None if delta is None else (delta + 1) / 2
