"""Prepares samples as arrays, for the other files of this folder."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from aferir.model.record import Warning

Array = NDArray[np.float64]
Values = Sequence[float] | Array
"""One-dimensional samples, in the order in which they were measured."""


def finite(values: Values) -> tuple[Array, tuple[Warning, ...]]:
    """Samples without NaN and infinities, and a warning that counts what was left out.

    Errors: ValueError if `values` is not one-dimensional.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"samples must have one dimension, not {array.ndim}")
    kept = array[np.isfinite(array)]
    lost = array.size - kept.size
    if lost == 0:
        return kept, ()
    return kept, (
        Warning(
            "not-finite",
            f"{lost} of {array.size} samples are not finite numbers and were left out",
            "look at the raw output of the program that printed them",
        ),
    )


def quantile(ordered: Sequence[float], share: float) -> float:
    """Quantile of sorted samples by linear interpolation, equal to `numpy.quantile`'s.

    Written in plain Python because a report computes thousands of quantiles of about ten samples,
    for which a numpy call takes ten times as long. Errors: IndexError if there are no samples.
    """
    place = share * (len(ordered) - 1)
    below = min(int(place), max(len(ordered) - 2, 0))
    low, high = ordered[below], ordered[min(below + 1, len(ordered) - 1)]
    part = place - below
    # From the nearer end, as numpy does.
    return high - (high - low) * (1 - part) if part >= 0.5 else low + (high - low) * part


def positive_logs(values: Values) -> tuple[Array, tuple[Warning, ...]]:
    """Natural logarithms of the finite samples above zero, and warnings for the others."""
    array, warnings = finite(values)
    kept = array[array > 0]
    if kept.size < array.size:
        warnings = (*warnings, _not_positive(array.size - kept.size, array.size))
    return np.log(kept), warnings


def paired_logs(values: Values, baseline: Values) -> tuple[Array, Array, tuple[Warning, ...]]:
    """ln(values[k]) and ln(baseline[k]) for every k at which both are finite and above zero.

    Errors: ValueError if the lengths differ: such samples are no pairs.
    """
    above = np.asarray(values, dtype=np.float64)
    below = np.asarray(baseline, dtype=np.float64)
    if above.ndim != 1 or above.shape != below.shape:
        raise ValueError(f"pairs need equal lengths, not {above.shape} and {below.shape}")
    good = np.isfinite(above) & np.isfinite(below) & (above > 0) & (below > 0)
    lost = int(above.size - good.sum())
    warnings = (_not_positive(lost, above.size),) if lost else ()
    return np.log(above[good]), np.log(below[good]), warnings


def exp(x: float) -> float:
    """Exponential function that returns infinity instead of an overflow error.

    Overflow occurs e.g. for pairs that contradict each other widely.
    """
    return math.exp(x) if x < 709 else math.inf


def _not_positive(lost: int, n: int) -> Warning:
    return Warning(
        "not-positive",
        f"{lost} of {n} samples are not finite and above zero and were left out of the ratio",
        "a duration or a rate cannot be zero: look at the raw output",
    )
