"""Oscillators: a constant error of the rate, and wander.

A node's clock shows `offset + t + integral of (rate + wander)` at true time t. The wander is either
a random walk of the rate, as temperature causes it, or flicker, approximated by one
Ornstein-Uhlenbeck process for each decade of time constants (as Barnes and Jarvis approximate it by
a cascade of filters, NASA TN D-6490, 1971). Both are reflected at a hard limit, since an error
bound can only be guaranteed under some limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Process = Literal["random-walk", "flicker"]

TIME_CONSTANTS_S = (1.0, 1e1, 1e2, 1e3, 1e4, 1e5)


class Oscillators(msgspec.Struct, frozen=True, kw_only=True):
    """A population of oscillators; measured ones differ by 5 to 10 ppm and wander by 0.1 ppm."""

    rate_spread: float = 10e-6
    """Largest difference of a rate from the reference's; rates are uniform up to it."""
    wander: float = 0.1e-6
    """Largest deviation of the rate from its nominal value."""
    process: Process = "random-walk"
    walk_per_root_s: float = 1e-9
    """Standard deviation of the rate's change in 1 s; for the random walk only."""


def draw_rates(rng: np.random.Generator, oscillators: Oscillators, nodes: int) -> Array:
    """Nominal rates relative to the reference, shape (nodes,)."""
    return rng.uniform(-oscillators.rate_spread, oscillators.rate_spread, nodes)


def reflect(values: Array, limit: float) -> Array:
    """Fold a process into [-limit, limit], as if it were reflected at both ends."""
    if limit == 0:
        return np.zeros_like(values)
    # A triangle wave: np.mod would do, at five times the cost of rounding.
    turns = np.rint(values / (4 * limit))
    around = values - 4 * limit * turns
    return np.where(np.abs(around) <= limit, around, np.copysign(2 * limit, around) - around)


def wander(
    rng: np.random.Generator, oscillators: Oscillators, nodes: int, steps_s: Sequence[float]
) -> Iterator[Array]:
    """Wander at the beginning and after each step, each of shape (nodes,).

    Between two values the rate is linear: the phase gained in a step is the mean of the rates at
    its ends times its length.
    """
    walks = oscillators.process == "random-walk"
    return (_random_walk if walks else _flicker)(rng, oscillators, nodes, steps_s)


def _random_walk(
    rng: np.random.Generator, oscillators: Oscillators, nodes: int, steps_s: Sequence[float]
) -> Iterator[Array]:
    free = rng.uniform(-oscillators.wander, oscillators.wander, nodes)
    yield free.copy()
    for step in steps_s:
        free += oscillators.walk_per_root_s * np.sqrt(step) * rng.standard_normal(nodes)
        yield reflect(free, oscillators.wander)


def _flicker(
    rng: np.random.Generator, oscillators: Oscillators, nodes: int, steps_s: Sequence[float]
) -> Iterator[Array]:
    constants = np.array(TIME_CONSTANTS_S)[:, None]
    # The standard deviation of the sum is half the limit, so it is reflected only occasionally.
    deviation = oscillators.wander / 2 / np.sqrt(len(TIME_CONSTANTS_S))
    parts = deviation * rng.standard_normal((len(TIME_CONSTANTS_S), nodes))
    yield reflect(parts.sum(axis=0), oscillators.wander)
    for step in steps_s:
        kept = np.exp(-step / constants)
        parts *= kept
        parts += deviation * np.sqrt(1 - kept**2) * rng.standard_normal(parts.shape)
        yield reflect(parts.sum(axis=0), oscillators.wander)


def phases(rates: Array, steps_s: Array) -> Array:
    """Integral of rates that are linear between grid points, in s.

    `rates`: (steps + 1, nodes), `steps_s`: (steps,). Returns (steps + 1, nodes), beginning at 0.
    """
    gained = 0.5 * (rates[1:] + rates[:-1]) * steps_s[:, None]
    return np.concatenate([np.zeros((1, rates.shape[1])), np.cumsum(gained, axis=0)])
