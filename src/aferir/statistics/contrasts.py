"""Contrasts: weighted sums of the centres of arms (environments) measured in the same rounds.

Computed on logarithms, so that a weighted sum is a product of ratios. Disturbances of a whole round
cancel, single outliers get no weight, and arms may have different variances.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import msgspec
import numpy as np

from aferir.statistics import distributions
from aferir.statistics.arrays import Array
from aferir.statistics.intervals import Interval
from aferir.statistics.ratio import FREEDOM
from aferir.statistics.robust import locate
from aferir.statistics.student import satterthwaite

METHOD = "contrast of the arms' centres"
_POLISH = 5
"""Iterations of the median polish (Tukey 1977), which converges after two or three."""
LEAST_ROUNDS = 3
_SHARED = math.pi / 2
"""Ratio of the variance of a median to that of a mean, for normal values. The effect of a round is
a median over its arms, so its variance is larger by this factor.
"""


class Arms(msgspec.Struct, frozen=True, kw_only=True):
    """Location of each arm on the logarithmic scale, with the effects of rounds removed."""

    centres: tuple[float, ...]
    errors: tuple[float, ...]
    """Standard error of each arm's centre."""
    freedoms: tuple[float, ...]
    rounds: int


class Contrast(msgspec.Struct, frozen=True, kw_only=True):
    """Estimated contrast: a sum of the arms' centres with weights that add up to 0."""

    estimate: float
    error: float
    freedom: float

    def half_width(self, level: float, family: int = 1) -> float:
        """Half-width of an interval; `level` holds for `family` intervals together (Bonferroni)."""
        tail = (1 - level) / family / 2
        return -distributions.student_quantile(self.freedom, tail) * self.error

    def interval(self, level: float, family: int = 1) -> Interval:
        """Confidence interval of the contrast; `level` holds for `family` intervals together."""
        half = self.half_width(level, family)
        return Interval(self.estimate - half, self.estimate + half, level, METHOD)

    def p_value(self, family: int = 1) -> float:
        """P value of the hypothesis that the contrast is zero, adjusted for `family` tests."""
        if self.error == 0:
            return 0.0 if self.estimate else 1.0
        score = abs(self.estimate) / self.error
        return min(1.0, family * 2 * distributions.student(self.freedom, -score))


def locate_arms(logs: Array) -> Arms | None:
    """Locate the arms from logarithms of values, arms x rounds, with NaN for failed repetitions.

    None if an arm has fewer than `LEAST_ROUNDS` values, too few for an interval.
    """
    if logs.shape[1] < LEAST_ROUNDS or (np.isfinite(logs).sum(axis=1) < LEAST_ROUNDS).any():
        return None
    freed = logs - _common(logs)[None, :]
    places = [locate(row[np.isfinite(row)]) for row in freed]
    found = [place for place in places if place is not None]
    freedoms = [(FREEDOM if p.method == "biweight" else 1.0) * (p.n - 1) for p in found]
    shrunk = math.sqrt(len(found) / max(len(found) - _SHARED, 1.0))
    return Arms(
        centres=tuple(place.centre for place in found),
        errors=tuple(shrunk * place.error for place in found),
        freedoms=tuple(freedoms),
        rounds=logs.shape[1],
    )


def contrast(arms: Arms, weights: Sequence[float] | Array) -> Contrast:
    """Sum of the arms' centres times their `weights`, which must add up to zero.

    The degrees of freedom are Satterthwaite's, since arms may have different variances.
    """
    centres, errors = np.array(arms.centres), np.array(arms.errors)
    factors = np.asarray(weights, dtype=np.float64)
    parts = (factors * errors) ** 2
    return Contrast(
        estimate=float((factors * centres).sum()),
        error=math.sqrt(float(parts.sum())),
        freedom=satterthwaite(tuple(parts.tolist()), arms.freedoms),
    )


def _common(logs: Array) -> Array:
    """Effect that each round has on all its arms, by a median polish; about zero on average."""
    rounds = np.zeros(logs.shape[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a round that failed altogether
        for _ in range(_POLISH):
            arms = np.nanmedian(logs - rounds[None, :], axis=1)
            rounds = np.nan_to_num(np.nanmedian(logs - arms[:, None], axis=0))
    return rounds
