"""Draw durations as machines show them: independent ones of many shapes, and dependent ones."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

Array = NDArray[np.float64]
Shape = Callable[[np.random.Generator, int, int, float], Array]
"""Draw from (generator, trials, n, factor) a matrix of durations, `factor` times the shape's own.
"""

SETTLE = 200
"""Values of an autoregression that are discarded, so that it has settled."""


def normal(noise: float) -> Shape:
    """Return a lognormal shape; `noise` is the standard deviation of its logarithms."""
    return lambda rng, m, n, factor: factor * np.exp(noise * rng.normal(size=(m, n)))


def heavy(freedom: float) -> Shape:
    """Return a shape whose logarithms have Student's t distribution; freedom 1 is Cauchy's."""
    return lambda rng, m, n, factor: (
        factor * np.exp(np.clip(0.01 * rng.standard_t(freedom, size=(m, n)), -50, 50))
    )


def skewed(rng: np.random.Generator, m: int, n: int, factor: float) -> Array:
    """Draw a floor plus a lognormal excess of 5 %."""
    return factor * (1 + 0.05 * np.exp(0.8 * rng.normal(size=(m, n))))


def waiting(rng: np.random.Generator, m: int, n: int, factor: float) -> Array:
    """Draw a floor plus an exponential excess of 2 %."""
    return factor * (1 + 0.02 * rng.exponential(size=(m, n)))


def states(slow: float, share: float, noise: float = 0.01) -> Shape:
    """Return a noisy shape in which a `share` of the repetitions takes `slow` times as long."""

    def draw(rng: np.random.Generator, m: int, n: int, factor: float) -> Array:
        state = np.where(rng.random((m, n)) < share, slow, 1.0)
        return factor * state * np.exp(noise * rng.normal(size=(m, n)))

    return draw


def spikes(rng: np.random.Generator, m: int, n: int, factor: float) -> Array:
    """Draw repetitions of which one in twelve is 20 to 100 % slower."""
    slower = np.where(rng.random((m, n)) < 0.08, rng.uniform(0.2, 1.0, (m, n)), 0.0)
    return factor * (1 + slower) * np.exp(0.015 * rng.normal(size=(m, n)))


def steps(duration: float, noise: float, digits: int) -> Shape:
    """Return a shape that is rounded to `digits`, as some programs print their time."""

    def draw(rng: np.random.Generator, m: int, n: int, factor: float) -> Array:
        exact = duration * factor * np.exp(noise * rng.normal(size=(m, n)))
        return np.maximum(np.round(exact, digits), 10.0**-digits)

    return draw


def neighbours(rho: float) -> Shape:
    """Return a shape whose logarithms are a first-order autoregression."""

    def draw(rng: np.random.Generator, m: int, n: int, factor: float) -> Array:
        pushes = rng.normal(size=(m, n + SETTLE)) * np.sqrt(1 - rho**2)
        drawn: Array = np.empty((m, n))
        drawn[:] = factor * np.exp(0.01 * lfilter([1.0], [1.0, -rho], pushes)[:, SETTLE:])
        return drawn

    return draw


STICKING_SLOW = 1.1
"""Durations of `sticking` above this value belong to its slow state."""


def sticking(rng: np.random.Generator, m: int, n: int, factor: float) -> Array:
    """Draw two states 20 % apart; a state ends after each repetition with 5 % probability."""
    moves = rng.random((m, n)) < np.where(np.arange(n) == 0, 0.5, 0.05)
    state = (np.cumsum(moves, axis=1) % 2).astype(np.float64)
    return factor * (1 + 0.2 * state) * np.exp(0.01 * rng.normal(size=(m, n)))


INDEPENDENT: dict[str, Shape] = {
    "normal": normal(0.01),
    "normal-3-percent": normal(0.03),
    "skewed": skewed,
    "waiting": waiting,
    "heavy-t3": heavy(3),
    "heavy-t2": heavy(2),
    "heavy-cauchy": heavy(1),
    "states-1.2-in-45-percent": states(1.2, 0.45),
    "states-1.1-in-30-percent": states(1.1, 0.30),
    "states-1.03-in-45-percent": states(1.03, 0.45),
    "states-1.5-in-10-percent": states(1.5, 0.10),
    "spikes": spikes,
    "clock-steps-of-noise": steps(1.0, 0.01, 2),
    "clock-steps-coarse": steps(0.2, 0.03, 2),
}
"""Shapes whose repetitions are independent."""
DEPENDENT: dict[str, Shape] = {"rho-0.5": neighbours(0.5), "rho-0.9": neighbours(0.9)}
STALLS: dict[str, Shape] = {
    "1.5-times-in-10-percent": states(1.5, 0.10, 0.005),
    "2-times-in-10-percent": states(2.0, 0.10, 0.005),
    "1.3-times-in-40-percent": states(1.3, 0.40, 0.005),
    "3-times-in-30-percent": states(3.0, 0.30, 0.005),
}
