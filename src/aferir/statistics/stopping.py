"""Stopping rule: decides when enough repetitions have been made."""

from __future__ import annotations

import math

import numpy as np

from aferir.statistics.arrays import Values, finite
from aferir.statistics.intervals import mean_interval


def relative_half_width(values: Values, *, level: float = 0.95) -> float:
    """Half-width of the t interval of the mean, as a share of the mean (0.02 is 2 %).

    Infinite if n < 3 or the mean is zero, so that `relative_half_width(v) < limit` never stops
    too early. Stopping as soon as an interval is narrow makes it cover slightly less than its level
    (Chow and Robbins 1965), which is why there is a minimum of repetitions.
    """
    array, _ = finite(values)
    interval = mean_interval(array, level=level)
    if interval is None:
        return math.inf
    mean = float(np.mean(array))
    if mean == 0:
        return math.inf
    return (interval.high - interval.low) / 2 / abs(mean)
