"""Group-sequential tests: repeated tests of a comparison that together err as rarely as one test.

Testing after every few repetitions and stopping at the first significant result is wrong far more
often than the level of each test. Here the level is spent test by test: the bounds of all tests
together are crossed by chance with the requested probability (Lan and DeMets 1983, with the power
family of Kim and DeMets 1987).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np

from aferir.statistics import distributions
from aferir.statistics.arrays import Array
from aferir.statistics.ratio import Ratio

Answer = Literal["slower", "pass", "undecided"]
POWER = 2.0
"""Exponent of the spending function: once a fraction f of the information is available, alpha times
f to this power is spent. Early stopping remains possible, and the last test loses little power.
"""
_GRID = 1201
_WIDTH = 8.0
"""Half-width in standard deviations of the grid on which densities are integrated."""
_ROUNDING = 1e-12
"""Excess of counts that do not scatter up to which they are at the limit, and so within it."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Limit to test against, and the error probabilities that are tolerated."""

    at_most: float
    """Tolerated relative increase: 0.03 permits up to 3 % more."""
    alpha: float = 0.01
    """Probability that any test answers `slower` if the true increase is within the limit."""
    beta: float = 0.05
    """Probability that any test answers `pass` if the true increase is beyond the limit."""


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one interim test."""

    answer: Answer
    score: float
    """Difference between ratio and limit in standard errors; positive above the limit."""
    upper: float
    """Score from which on the answer is `slower`; from minus `lower` down it is `pass`."""
    lower: float


def bounds(fractions: tuple[float, ...], level: float) -> tuple[float, ...]:
    """Bounds of the score, one for each test; chance crosses any of them with probability `level`.

    `fractions` are the shares of the information available at each test; they rise to at most 1.
    Increments are independent, and the bounds one-sided. Errors: ValueError if fractions do not
    rise within 0 and 1.
    """
    if not all(0 < a < b <= 1 for a, b in zip((1e-12, *fractions), fractions, strict=False)):
        raise ValueError("the looks' fractions have to rise, and to end at 1 or before")
    return tuple(
        _walk(fractions[:end], level).edge / math.sqrt(fractions[end - 1])
        for end in range(1, len(fractions) + 1)
    )


class _Walk(msgspec.Struct, frozen=True):
    """Density of the sum of increments after some tests in which no bound was crossed."""

    edge: float
    """Bound of the last of these tests."""
    grid: Array
    density: Array


@functools.cache
def _walk(fractions: tuple[float, ...], level: float) -> _Walk:
    """Integrate up to the last test of `fractions`; earlier tests are computed once and cached."""
    fraction = fractions[-1]
    before = fractions[-2] if len(fractions) > 1 else 0.0
    share = level * (fraction**POWER - before**POWER)
    step = math.sqrt(fraction - before)
    span = _WIDTH * math.sqrt(fraction)
    ahead = np.linspace(-span, span, _GRID)
    if before:
        last = _walk(fractions[:-1], level)
        width = last.grid[1] - last.grid[0]
        kernel = np.exp(-((ahead[:, None] - last.grid[None, :]) ** 2) / (2 * step**2))
        reached = kernel @ last.density * width / (step * math.sqrt(2 * math.pi))
    else:
        reached = np.exp(-(ahead**2) / (2 * step**2)) / (step * math.sqrt(2 * math.pi))
    tail = np.cumsum(reached[::-1])[::-1] * (ahead[1] - ahead[0])
    edge = float(np.interp(-share, -tail, ahead))
    return _Walk(edge, ahead, np.where(ahead < edge, reached, 0.0))


def look(ratio: Ratio, number: int, fractions: Sequence[float], limits: Limits) -> Look:
    """Result of the interim test with index `number` among those planned in `fractions`.

    Undecided if the ratio has no standard error yet.
    """
    planned = tuple(fractions)
    upper = bounds(planned, limits.alpha)[number]
    lower = bounds(planned, limits.beta)[number]
    score = score_of(ratio, limits.at_most)
    answer: Answer = "undecided"
    if score is not None:
        answer = "slower" if score >= upper else "pass" if score <= -lower else "undecided"
    return Look(answer=answer, score=score or 0.0, upper=upper, lower=lower)


def score_of(ratio: Ratio, at_most: float) -> float | None:
    """Standard normal score by which a ratio exceeds 1 + at_most; None without an error."""
    if ratio.estimate is None or ratio.log_error is None or ratio.freedom is None:
        return None
    above = math.log(ratio.estimate) - math.log1p(at_most)
    if ratio.log_error == 0:
        return math.inf if above > _ROUNDING else -math.inf
    tail = distributions.student(ratio.freedom, -abs(above) / ratio.log_error)
    return math.copysign(-distributions.normal_quantile(max(tail, 1e-300)), above)


def visible(spread: float, rounds: int, limits: Limits, *, power: float = 0.95) -> float:
    """Smallest excess over the limit that `rounds` detect with probability `power`; 0.01 is 1 %.

    `spread` is the standard deviation of a pair's log-ratio.
    """
    if rounds < 1:
        return math.inf
    needed = bounds((1.0,), limits.alpha)[0] + distributions.normal_quantile(power)
    return math.expm1(needed * spread / math.sqrt(rounds))


def rounds_needed(ratio: Ratio, limits: Limits, *, power: float = 0.8) -> int | None:
    """Total number of pairs that would decide if the present estimate were the truth.

    None if there is no estimate, or if it equals the limit.
    """
    if ratio.estimate is None or ratio.log_error is None:
        return None
    above = math.log(ratio.estimate) - math.log1p(limits.at_most)
    if above == 0:
        return None
    level = limits.alpha if above > 0 else limits.beta
    needed = bounds((1.0,), level)[0] + distributions.normal_quantile(power)
    spread = ratio.log_error * math.sqrt(ratio.n)
    return math.ceil((needed * spread / above) ** 2)
