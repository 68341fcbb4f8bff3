"""Change points of a series of runs by E-divisive: where the distribution of a figure shifts.

Matteson and James 2014 divide a series where the energy distance of its two parts is largest, and
keep the division if few permutations of the series reach that distance. Three things differ here.
The distance is computed from distribution functions (Szekely and Rizzo 2005: it is twice the
integral of their squared difference), which takes 0.2 ms for 200 runs. It is computed for the
innovations of a first-order autoregression, since their permutations are equally likely even if
runs resemble their neighbours (Robbins, Gallagher, Lund and Aue 2011). And the change is placed
where the autoregression with a shift is most likely, since autocorrelation blurs the energy
distance.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
from numpy.typing import NDArray

from aferir.statistics.arrays import Array

LEAST = 5
"""Smallest number of runs on either side of a change: with fewer, one odd run would be a change."""
FEW = 20
"""Number of runs below which a clear change is often missed: a step of five times the noise in the
middle is found in 50 % of series of 14 runs, in 61 % of 16, in 79 % of 20 and in all of 30 (n = 100
each).
"""
LEVEL = 0.001
"""Largest p value of a change point. If the series is tested after each new run, at most about this
share of the tests is a false alarm: benchmarks/history measures it.
"""
PERMUTATIONS = 999
"""Permutations of a series: the smallest p value is then `LEVEL`."""
_LEVELS = 256
"""Largest number of values at which distribution functions are compared. For longer series these
are quantiles, so that time grows with the length and not with its square.
"""
_STRONGEST = 0.95
"""Autocorrelation above which a series is taken for a random walk, in which every change is chance.
"""
_NORMAL_MAD = 1.4826
"""Standard deviation of normal values over their median absolute deviation."""
_CLIP = 3.0
"""Largest deviation from the median in standard deviations: spikes are clipped to it."""
_CUT = 4.0
"""Number of standard deviations at which innovations are clipped when a change is placed: with an
autocorrelation of 0.6 and a shift of three deviations, 96.5 % are placed within two runs, 94.7 % by
the likelihood of Student's t distribution, and 97.3 % if autocorrelation, levels and spread are
known (n = 1,200 and 1,500).
"""
_FURTHER = 5.0
"""Threshold above which further shifts are assumed. It applies to the difference of two estimates
of the autocorrelation, times the square root of the number of runs: in series without any, the
product has a standard deviation of 1.4 to 2.4.
"""
_MARGIN = 1.0
"""Number of standard errors that are added to the estimated autocorrelation. With 0, 1, 1.5 and 2
of them, 2.3, 0.4, 0.1 and 0.1 of 1,000 tests of series with an autocorrelation of 0.6 alarm falsely
(40 series of 200 runs, tested after each run); more of them hide changes of short series.
"""

_Floats = NDArray[np.float32]


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One change point."""

    at: int
    """Index of the first value after the change."""
    p_value: float
    """Probability that the clearest division of a series without any change is as clear as this
    one.
    """
    before: float
    """Median of the values since the previous change point."""
    after: float
    """Median of the values until the next change point."""
    n_before: int
    n_after: int

    @property
    def ratio(self) -> float | None:
        """Median after the change over the median before it; None unless both are above 0."""
        return self.after / self.before if self.before > 0 and self.after > 0 else None


def change_points(values: Array, *, level: float = LEVEL, seed: int = 1) -> tuple[Change, ...]:
    """Change points in the order of the series; empty for fewer than 2 `LEAST` values.

    Positive values are compared by their logarithms. The seed makes the permutations, and so the
    p values, the same each time. Errors: ValueError if a value is not finite.
    """
    series = np.asarray(values, dtype=np.float64)
    if not np.isfinite(series).all():
        raise ValueError("a series must consist of finite numbers")
    scaled = np.log(series) if series.size and series.min() > 0 else series
    found = _divide(scaled, 0, level, np.random.default_rng(seed))
    edges = [0, *(at for at, _ in found), series.size]
    medians = [
        float(np.median(series[edges[k] : edges[k + 1]])) if series.size else 0.0
        for k in range(len(edges) - 1)
    ]
    return tuple(
        Change(
            at=at,
            p_value=p_value,
            before=medians[k],
            after=medians[k + 1],
            n_before=at - edges[k],
            n_after=edges[k + 2] - at,
        )
        for k, (at, p_value) in enumerate(found)
    )


def _divide(
    series: Array, offset: int, level: float, rng: np.random.Generator
) -> list[tuple[int, float]]:
    """Places and p values of all changes in one part of the series, in order."""
    if series.size < 2 * LEAST or np.ptp(series) == 0:
        return []
    at, p_value = clearest(series, level, rng)
    if p_value > level:
        return []
    return [
        *_divide(series[:at], offset, level, rng),
        (offset + at, p_value),
        *_divide(series[at:], offset + at, level, rng),
    ]


def clearest(series: Array, level: float, rng: np.random.Generator) -> tuple[int, float]:
    """Start of the second part in the clearest division, and its p value.

    Permutations end as soon as the p value is certain to be above `level`; the returned p value is
    then approximate (Besag and Clifford 1991). The series has at least 2 `LEAST` values.
    """
    at = int(_distances(_steps(series), _weights(series.size)).argmax()) + 1
    at = _place(series, at, autocorrelation(_clipped(series, at), at))
    innovations = _innovations(_clipped(series, at), at)
    steps, weights = _steps(innovations), _weights(innovations.size)
    reached = _distances(steps, weights).max()
    beyond = 0
    for drawn in range(1, PERMUTATIONS + 1):
        permuted = _distances(steps[rng.permutation(innovations.size)], weights)
        beyond += bool(permuted.max() >= reached)
        if beyond + 1 > level * (PERMUTATIONS + 1):
            return at, (beyond + 1) / (drawn + 1)
    return at, (beyond + 1) / (PERMUTATIONS + 1)


def _levels(series: Array, at: int) -> tuple[float, float]:
    """Median before a division, and median from the division on."""
    return float(np.median(series[:at])), float(np.median(series[at:]))


def _clipped(series: Array, at: int) -> Array:
    """Series with deviations from each part's median clipped to `_CLIP` standard deviations."""
    before, after = _levels(series, at)
    levels = np.where(np.arange(series.size) < at, before, after)
    rest = series - levels
    spread = _CLIP * _NORMAL_MAD * float(np.median(np.abs(rest)))
    return levels + np.clip(rest, -spread, spread) if spread > 0 else series


def _place(series: Array, near: int, r: float) -> int:
    """Division at which a first-order autoregression with a shift is most likely.

    `near` is the division from which both levels are taken, and `r` the autocorrelation.
    Autocorrelation blurs the energy distance but not the innovations: the first one after the
    change has the whole shift. Squared innovations are cut at `_CUT` deviations, so that a spike
    counts little.
    """
    before, after = _levels(series, near)
    pushes = series[1:] - r * series[:-1]
    low, jump, high = (
        pushes - (1 - r) * before,
        pushes - after + r * before,
        pushes - (1 - r) * after,
    )
    scale = _NORMAL_MAD * float(np.median(np.abs(np.concatenate([low[: near - 1], high[near:]]))))
    if scale == 0:
        return near
    low, jump, high = (np.minimum((one / scale) ** 2, _CUT**2) for one in (low, jump, high))
    costs = np.cumsum(low) - low + jump + np.cumsum(high[::-1])[::-1] - high
    return int(costs[LEAST - 1 : series.size - LEAST].argmin()) + LEAST


def _innovations(series: Array, at: int) -> Array:
    """Each value minus r times the one before it, where r is the autocorrelation.

    Innovations are independent if the series has no change (Robbins, Gallagher, Lund and Aue 2011),
    so that all their permutations are equally likely. r exceeds its estimate by `_MARGIN` standard
    errors: with a smaller r, innovations would resemble their neighbours, which looks like a
    change.
    """
    r = autocorrelation(series, at)
    r = min(r + _MARGIN * math.sqrt((1 - r**2) / series.size), _STRONGEST)
    return np.asarray(series[1:] - r * series[:-1], dtype=np.float64)


def autocorrelation(series: Array, at: int) -> float:
    """Lag-1 autocorrelation of a series that may have a shift at `at`, from 0 to 0.95.

    The usual estimate about the means of both parts, corrected for its bias, is too large if there
    are further shifts. Differences of neighbours and of next neighbours are not affected by a few
    shifts, but vary more: their estimate counts if it is far below the usual one.
    """
    n = series.size
    rest = np.concatenate([series[:at] - series[:at].mean(), series[at:] - series[at:].mean()])
    squares = float(rest @ rest)
    if squares == 0 or n < 2 * LEAST:
        return 0.0
    usual = float(rest[1:] @ rest[:-1]) / squares
    usual += 2 * (1 + 3 * usual) / n  # Kendall 1954, once for each of the two means
    near, far = _spread(np.diff(series)), _spread(series[2:] - series[:-2])
    local = far / near - 1 if near > 0 else 0.0
    found = local if usual - local > _FURTHER / math.sqrt(n) else usual
    return min(max(found, 0.0), _STRONGEST)


def _spread(differences: Array) -> float:
    """Mean square of differences, with large ones cut at three times the median size."""
    sizes = np.abs(differences)
    return float((np.minimum(sizes, 3 * np.median(sizes)) ** 2).mean())


def _steps(series: Array) -> _Floats:
    """Contribution of each value to the empirical distribution function at each level.

    The mean over all values is subtracted, and columns are weighted by the root of the distance
    to the next level, so that a sum of squares is an integral. Shape: values, levels.
    """
    levels = np.unique(series)
    if levels.size > _LEVELS + 1:
        levels = np.unique(np.quantile(series, np.linspace(0, 1, _LEVELS + 1)))
    below = (series[:, None] <= levels[None, :-1]).astype(np.float32)
    roots = np.sqrt(np.diff(levels)).astype(np.float32)
    steps: _Floats = (below - below.mean(axis=0, dtype=np.float64).astype(np.float32)) * roots
    return steps


def _weights(n: int) -> _Floats:
    """Factor that scales the energy distance of each division of `n` values into two parts.

    Index i is the division after value i; 0: one part is shorter than `LEAST`. With a values
    before and b after a division, their energy distance times a b / n is the sum of squares of
    `_distances` times 2 n / (a b).
    """
    before = np.arange(1, n + 1, dtype=np.float32)
    weights = np.zeros(n, dtype=np.float32)
    inner = slice(LEAST - 1, n - LEAST)
    weights[inner] = 2 * n / (before[inner] * (n - before[inner]))
    return weights


def _distances(steps: _Floats, weights: _Floats) -> _Floats:
    """Scaled energy distance of the two parts for each division."""
    sums = np.cumsum(steps, axis=0)
    distances: _Floats = np.einsum("ij,ij->i", sums, sums) * weights
    return distances
