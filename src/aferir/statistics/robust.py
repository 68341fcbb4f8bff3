"""Robust location of a sample that contains outliers.

On a shared machine a repetition occasionally takes 20 to 100 % longer. One such value among ten
ruins a t test and nearly ruins a rank test. Tukey's biweight gives values far from the centre no
weight, with the standard error of Mosteller and Tukey 1977 (chapter 10).
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
from numpy.typing import NDArray

from aferir.statistics.arrays import Array

BIWEIGHT_MINIMUM = 8
"""Smallest n for the biweight; with fewer samples the scale is too uncertain, and the mean is used.
"""
SCALE_LEVEL = 0.6
"""Quantile of the distances from the median that serves as scale. The median of the distances would
let five of eight values that happen to share a state outvote the others; a higher quantile would
let three spikes among ten distort the scale.
"""
REACH = 6.07 / 0.8416
"""Distance in scales beyond which values have no weight: 6.07 standard deviations of a normal
distribution, whose 0.6 quantile of distances is 0.8416 standard deviations.
"""
NORMAL_LOSS = 0.054
"""Share of their weight that even normally distributed values lose, as most are off the centre."""
ITERATIONS = 50


class Location(msgspec.Struct, frozen=True):
    """A location with its standard error."""

    centre: float
    error: float
    method: str
    n: int
    ignored: int
    """Number of samples without weight, because they are too far from the centre."""
    lost: float
    """Weight that the samples lose in excess of normally distributed ones, in units of one sample.
    """


def locate(array: Array) -> Location | None:
    """Biweight for n >= 8 and samples that vary, else the mean; None for n < 2."""
    return locate_rows(array[None, :])[0] if array.size > 1 else None


def locate_rows(rows: Array) -> list[Location]:
    """Location of each row of a matrix; n >= 2."""
    n = rows.shape[1]
    if n < BIWEIGHT_MINIMUM:
        return [mean_location(row) for row in rows]
    found = zip(*(column.tolist() for column in biweight(rows)), strict=True)
    return [
        Location(centre, error, "biweight", n, ignored, lost)
        if math.isfinite(error)
        else mean_location(row)
        for row, (centre, error, ignored, lost) in zip(rows, found, strict=True)
    ]


def mean_location(array: Array) -> Location:
    """Mean with its standard error; n >= 2."""
    error = float(np.std(array, ddof=1)) / math.sqrt(array.size)
    return Location(float(np.mean(array)), error, "mean", array.size, 0, 0.0)


def biweight(rows: Array) -> tuple[Array, Array, NDArray[np.int64], Array]:
    """Centre, standard error, ignored samples and lost weight of each row of a matrix.

    The error is NaN if more than `SCALE_LEVEL` of a row are equal but for rounding: then there
    is no scale.
    """
    n = rows.shape[1]
    ordered = np.sort(rows, axis=1)
    centre = (ordered[:, (n - 1) // 2, None] + ordered[:, n // 2, None]) / 2
    distances = np.sort(np.abs(rows - centre), axis=1)
    at, share = divmod(SCALE_LEVEL * (n - 1), 1.0)
    low, high = distances[:, int(at), None], distances[:, min(int(at) + 1, n - 1), None]
    spread = low + share * (high - low)
    flat = spread[:, 0] <= 1e-9 * distances[:, -1]
    scale = REACH * np.where(flat[:, None], 1.0, spread)
    moving = np.arange(rows.shape[0])
    for _ in range(ITERATIONS):
        some = rows[moving]
        weight = (1 - _squares(some, centre[moving], scale[moving])) ** 2
        moved = (weight * some).sum(axis=1, keepdims=True) / np.maximum(
            weight.sum(axis=1, keepdims=True), 1e-300
        )
        still = np.abs(moved - centre[moving]) > 1e-10 * scale[moving]
        centre[moving] = moved
        moving = moving[still[:, 0]]
        if not moving.size:
            break
    u2 = _squares(rows, centre, scale)
    above = ((rows - centre) ** 2 * (1 - u2) ** 4).sum(axis=1)
    below = np.abs(((1 - u2) * (1 - 5 * u2)).sum(axis=1))
    error = np.sqrt(above / np.maximum(below * np.maximum(below - 1, 1.0), 1e-300))
    missing = n - ((1 - u2) ** 2).sum(axis=1)
    lost = np.maximum((missing - NORMAL_LOSS * n) / (1 - NORMAL_LOSS), 0.0)
    return centre[:, 0], np.where(flat, np.nan, error), (u2 >= 1).sum(axis=1), lost


def _squares(rows: Array, centre: Array, scale: Array) -> Array:
    """((row - centre) / scale)^2, at most 1, so that nothing overflows far outside."""
    distance = np.minimum(np.abs(rows - centre), scale)
    squares: Array = (distance / scale) ** 2
    return squares
