"""Sums of arms' centres with weights, where all arms were measured in every round.

On logarithms, so that a weighted sum is a product of ratios. What disturbs a whole round cancels,
a repetition that was spoilt alone does not count, and arms may vary differently.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import msgspec
import numpy as np
from scipy import special

from aferir.statistics.arrays import Array
from aferir.statistics.intervals import Interval
from aferir.statistics.ratio import FREEDOM
from aferir.statistics.robust import locate
from aferir.statistics.student import satterthwaite

METHOD = "contrast of the arms' centres"
_POLISH = 5
"""Rounds of a median polish (Tukey 1977); it settles after two or three."""
LEAST_ROUNDS = 3
_SHARED = math.pi / 2
"""Arms' worth of noise that goes into what is taken for common to a round, a median: the variance
of a median of normal values over that of their mean."""


class Arms(msgspec.Struct, frozen=True, kw_only=True):
    """Where each arm lies on the logarithmic scale, without what its rounds had in common."""

    centres: tuple[float, ...]
    errors: tuple[float, ...]
    """Standard errors."""
    freedoms: tuple[float, ...]
    rounds: int


class Contrast(msgspec.Struct, frozen=True, kw_only=True):
    """One weighted sum."""

    estimate: float
    error: float
    freedom: float

    def half_width(self, level: float, family: int = 1) -> float:
        """Of an interval that holds for all of a family together at that level (Bonferroni)."""
        tail = (1 - level) / family / 2
        return -float(special.stdtrit(self.freedom, tail)) * self.error

    def interval(self, level: float, family: int = 1) -> Interval:
        """Around the estimate; `level` is that of all intervals of the family together."""
        half = self.half_width(level, family)
        return Interval(self.estimate - half, self.estimate + half, level, METHOD)

    def p_value(self, family: int = 1) -> float:
        """Of the hypothesis that it is zero, adjusted for a family of as many tests."""
        if self.error == 0:
            return 0.0 if self.estimate else 1.0
        score = abs(self.estimate) / self.error
        return min(1.0, family * 2 * float(special.stdtr(self.freedom, -score)))


def locate_arms(logs: Array) -> Arms | None:
    """From logarithms of values, arms x rounds, NaN where a repetition failed.

    None where an arm has fewer than `LEAST_ROUNDS` values: nothing that needs it can be said.
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
    """The sum of the arms' centres with those weights, which add up to zero.

    Satterthwaite's degrees of freedom: arms need not vary alike.
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
    """What each round adds to all its arms, by a median polish; zero on average."""
    rounds = np.zeros(logs.shape[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a round that failed altogether
        for _ in range(_POLISH):
            arms = np.nanmedian(logs - rounds[None, :], axis=1)
            rounds = np.nan_to_num(np.nanmedian(logs - arms[:, None], axis=0))
    return rounds
