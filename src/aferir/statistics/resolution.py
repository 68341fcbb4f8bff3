"""Errors that the resolution of a program's clock causes.

A duration printed as 0.05 s may be anything from 0.045 to 0.055 s. Noise larger than the step makes
the mean correct again (Widrow 1956); without noise the error is half a step, however often the
program is repeated.
"""

from __future__ import annotations

import math

import numpy as np

from aferir.statistics.arrays import Array

DIGITS = 9
"""Values with at least this many decimals count as continuous."""


def step(values: Array) -> float:
    """Largest decimal step, at most 1, of which all values are multiples; 0 if there is none."""
    if values.size == 0:
        return 0.0
    # Most durations have all their digits: the finest step is tried first.
    if not _fits(values, DIGITS - 1):
        return 0.0
    return float(10.0 ** -next(d for d in range(DIGITS) if _fits(values, d)))


def _fits(values: Array, digits: int) -> bool:
    """True if all values have at most `digits` decimals."""
    scaled = values * 10.0**digits
    tolerance = 1e-7 + 8 * np.finfo(float).eps * float(np.abs(scaled).max())
    return bool(np.abs(scaled - np.round(scaled)).max() <= tolerance)


def rounding_error(values: Array, of: float) -> float:
    """Largest relative error of the mean of values that were rounded to multiples of `of`.

    Half a step if the values do not vary; less if they do (Widrow 1956).
    """
    mean = float(np.mean(values)) if values.size else 0.0
    if of == 0 or mean <= 0:
        return 0.0
    spread = float(np.std(values / mean, ddof=1)) * (mean / of) if values.size > 1 else 0.0
    noise = max(min(spread, 1e9) ** 2 - 1 / 12, 0.0)
    # The mean rounding error of normal noise is a Fourier series whose k-th term is at most this.
    terms = (math.exp(-2 * (math.pi * k) ** 2 * noise) / (math.pi * k) for k in range(1, 9))
    return of * min(0.5, sum(terms)) / mean


def rounding_of_logs(above: Array, below: Array) -> float:
    """Largest error that rounding causes in the difference of two samples' mean logarithms."""
    a, b = np.exp(above), np.exp(below)
    resolution = step(np.concatenate([a, b]))
    # A bound larger than the value itself would be useless.
    return sum(min(rounding_error(side, resolution), 0.9) for side in (a, b))


def step_of_logs(above: Array, below: Array) -> float:
    """Step of the logarithms of two samples: the samples' step divided by their median."""
    both = np.exp(np.concatenate([above, below]))
    return step(both) / float(np.median(both))
