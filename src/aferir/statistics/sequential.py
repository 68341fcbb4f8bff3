"""Looking at a comparison several times while it is made, with the error of a single look.

Whoever tests after every few repetitions and stops at the first significant result is wrong far
more often than the level of each test says. Here the level is spent look by look: the bounds of
all looks together are crossed by chance with the probability that was asked for (Lan and DeMets
1983, with the power family of Kim and DeMets 1987).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np
from scipy import special

from aferir.statistics.ratio import Ratio

Answer = Literal["slower", "pass", "undecided"]
POWER = 2.0
"""Of the information so far in the share of the level that is spent by then: early looks are
possible, and the last one loses little."""
_GRID = 1201
_WIDTH = 8.0
"""Half-width of the grid in standard deviations."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be decided, and how often it may be decided wrongly."""

    at_most: float
    """0.03: up to 3 % more are fine."""
    alpha: float = 0.01
    """Of `slower` where the truth is within the limit, over all looks."""
    beta: float = 0.05
    """Of `pass` where the truth is beyond the limit, over all looks."""


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """What one look says."""

    answer: Answer
    score: float
    """Standard errors by which the ratio is above the limit."""
    upper: float
    """At this score it is slower; at minus `lower` it passes."""
    lower: float


@functools.cache
def bounds(fractions: tuple[float, ...], level: float) -> tuple[float, ...]:
    """Scores that independent increments cross by chance with the probability `level` in all.

    `fractions` of the information at each look rise to at most 1. One-sided. Errors: ValueError
    where they do not rise within 0 and 1.
    """
    if not all(0 < a < b <= 1 for a, b in zip((1e-12, *fractions), fractions, strict=False)):
        raise ValueError("the looks' fractions have to rise, and to end at 1 or before")
    found: list[float] = []
    grid = density = np.empty(0)
    spent = before = 0.0
    for fraction in fractions:
        share = level * fraction**POWER - spent
        spent = level * fraction**POWER
        step = math.sqrt(fraction - before)
        span = _WIDTH * math.sqrt(fraction)
        ahead = np.linspace(-span, span, _GRID)
        if density.size:
            width = grid[1] - grid[0]
            kernel = np.exp(-((ahead[:, None] - grid[None, :]) ** 2) / (2 * step**2))
            reached = kernel @ density * width / (step * math.sqrt(2 * math.pi))
        else:
            reached = np.exp(-(ahead**2) / (2 * step**2)) / (step * math.sqrt(2 * math.pi))
        tail = np.cumsum(reached[::-1])[::-1] * (ahead[1] - ahead[0])
        edge = float(np.interp(-share, -tail, ahead))
        found.append(edge / math.sqrt(fraction))
        grid, density, before = ahead, np.where(ahead < edge, reached, 0.0), fraction
    return tuple(found)


def look(ratio: Ratio, number: int, fractions: Sequence[float], limits: Limits) -> Look:
    """Judge what is known at look `number` (from 0) of those that are planned.

    Undecided where the ratio has no error yet.
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
    """Standard errors by which a ratio is above 1 + at_most, as of a normal distribution."""
    if ratio.estimate is None or ratio.log_error is None or ratio.freedom is None:
        return None
    above = math.log(ratio.estimate) - math.log1p(at_most)
    if ratio.log_error == 0:
        return math.copysign(math.inf, above)
    tail = float(special.stdtr(ratio.freedom, -abs(above) / ratio.log_error))
    return math.copysign(-float(special.ndtri(max(tail, 1e-300))), above)


def visible(spread: float, rounds: int, limits: Limits, *, power: float = 0.95) -> float:
    """Smallest excess over the limit that so many rounds find with that probability, 0.01: 1 %.

    `spread` is the standard deviation of a pair's log-ratio.
    """
    if rounds < 1:
        return math.inf
    needed = bounds((1.0,), limits.alpha)[0] + float(special.ndtri(power))
    return math.expm1(needed * spread / math.sqrt(rounds))


def rounds_needed(ratio: Ratio, limits: Limits, *, power: float = 0.8) -> int | None:
    """Pairs in all that would decide, were the truth what is estimated now.

    None where there is no estimate, or it is at the limit itself.
    """
    if ratio.estimate is None or ratio.log_error is None:
        return None
    above = math.log(ratio.estimate) - math.log1p(limits.at_most)
    if above == 0:
        return None
    level = limits.alpha if above > 0 else limits.beta
    needed = bounds((1.0,), level)[0] + float(special.ndtri(power))
    spread = ratio.log_error * math.sqrt(ratio.n)
    return math.ceil((needed * spread / above) ** 2)
