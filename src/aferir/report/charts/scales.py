"""Axes of charts: positions of values, and round ticks in readable units."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal

import msgspec
import numpy as np

from aferir.report.formatting import scale

MOST_TICKS = 7
WIDE = 50.0
"""Ratio of largest to smallest value from which an axis is logarithmic."""
FEW = 6
"""Largest number of whole values, such as numbers of threads, that have a tick each."""
_STEPS = (1.0, 2.0, 5.0, 10.0)


class Axis(msgspec.Struct, frozen=True):
    """An axis from `low` to `high`."""

    low: float
    high: float
    shown: Callable[[float], str]
    """Formats the label of a tick."""
    logarithmic: bool = False
    linear_within: float | None = None
    """If set, the axis is logarithmic on both sides of 0 and linear within this distance of it."""
    at: tuple[float, ...] = ()
    """Explicit ticks; empty: round values."""

    def share(self, value: float) -> float:
        """Position of a value from 0 to 1; values outside are placed at an end."""
        if self.logarithmic and value <= 0:
            return 0.0
        low, high, own = (self._straight(one) for one in (self.low, self.high, value))
        return min(max((own - low) / (high - low), 0.0), 1.0) if high > low else 0.5

    def ticks(self) -> list[float]:
        """Round values inside the axis, at most `MOST_TICKS`."""
        if self.at:
            return list(self.at)
        if self.linear_within is not None:
            return _symmetric_ticks(self.low, self.high, self.linear_within)
        return (log_ticks if self.logarithmic else linear_ticks)(self.low, self.high)

    def _straight(self, value: float) -> float:
        if self.logarithmic:
            return math.log(value)
        if self.linear_within is None or abs(value) <= self.linear_within:
            return value / (self.linear_within or 1.0)
        return math.copysign(1 + math.log10(abs(value) / self.linear_within), value)


def linear_ticks(low: float, high: float) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten."""
    if not high > low:
        return [low]
    rough = (high - low) / MOST_TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(s * power for s in _STEPS if s * power >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten, thinned to at most `MOST_TICKS`."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    found: list[float] = []
    for digits in ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,)):
        found = [d * 10.0**p for p in powers for d in digits if low <= d * 10.0**p <= high]
        if len(found) <= MOST_TICKS:
            return found
    return found[:: math.ceil(len(found) / MOST_TICKS)]


def _symmetric_ticks(low: float, high: float, least: float) -> list[float]:
    """0, and powers of ten on each side that the axis covers."""
    above = [v for v in log_ticks(least, max(high, least)) if v <= high]
    below = [-v for v in log_ticks(least, max(-low, least)) if -v >= low]
    every = max(1, math.ceil((len(above) + len(below) + 1) / MOST_TICKS))
    return [*below[::-1][::every], 0.0, *above[::every]]


def fitting(values: Sequence[float], unit: str, *, few: bool = False) -> Axis:
    """Axis that fits all values, logarithmic if they span a wide range.

    A load in percent is shown from 0 to 100. Values of both signs with a wide range get an axis
    that is linear only around 0. With `few`, up to `FEW` whole numbers, such as numbers of threads,
    have a tick each.
    """
    low, high = min(values), max(values)
    largest = max(abs(low), abs(high))
    usual = float(np.median(np.abs(values)))
    if unit == "%" and low >= 0 and high <= 100:
        return Axis(0.0, 104.0, unit_ticks((100.0,), unit))
    if low > 0 and high / low >= WIDE:
        room = (high / low) ** 0.04
        return Axis(low / room, high * room, own_ticks(unit), logarithmic=True)
    if low <= 0 and 0 < usual <= largest / WIDE:
        least = 10.0 ** math.floor(math.log10(usual))
        return Axis(1.3 * low, 1.3 * high, own_ticks(unit), linear_within=least)
    room = 0.05 * (high - low) or 0.05 * largest or 1.0
    whole = unit in ("", "1") and all(value == int(value) for value in values)
    at = tuple(sorted(set(values))) if few and whole and len(set(values)) <= FEW else ()
    return Axis(low - room, high + room, unit_ticks(values, unit), at=at)


def time_ticks(low: float, high: float) -> Callable[[float], str]:
    """Formats ticks of values in seconds, with one unit for the whole axis."""
    return unit_ticks((low, high), "s")


def unit_ticks(values: Iterable[float], unit: str) -> Callable[[float], str]:
    """Formats ticks with one prefix of `unit`, that of the largest value."""
    factor, name = scale(max(map(abs, values)), unit)
    return lambda value: f"{_plain(value / factor)} {name}".rstrip() if value else "0"


def own_ticks(unit: str) -> Callable[[float], str]:
    """Formats ticks each with its own prefix, for a logarithmic axis."""

    def shown(value: float) -> str:
        factor, name = scale(value, unit)
        return f"{_plain(value / factor)} {name}".rstrip() if value else "0"

    return shown


def _plain(value: float) -> str:
    """Six significant digits at most, and never an exponent: `1,000,000`, `0.00001`."""
    return f"{Decimal(f'{value:.6g}'):,f}"
