"""Axes of charts that are drawn without matplotlib: where a value lies, and round ticks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import msgspec

from aferir.report.formatting import scale

MOST_TICKS = 7
_STEPS = (1.0, 2.0, 5.0, 10.0)


class Axis(msgspec.Struct, frozen=True):
    """A horizontal axis from `low` to `high`."""

    low: float
    high: float
    shown: Callable[[float], str]
    """What is written at a tick."""
    logarithmic: bool = False

    def share(self, value: float) -> float:
        """Where the value lies, from 0 at the left to 1 at the right; what is beyond at an end."""
        if self.logarithmic:
            if value <= 0:
                return 0.0
            low, high, value = math.log(self.low), math.log(self.high), math.log(value)
        else:
            low, high = self.low, self.high
        return min(max((value - low) / (high - low), 0.0), 1.0) if high > low else 0.5

    def ticks(self) -> list[float]:
        """Round values inside the axis, at most `MOST_TICKS`."""
        return (log_ticks if self.logarithmic else linear_ticks)(self.low, self.high)


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
    """1, 2 and 5 times powers of ten; only as many powers as there is room for."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,)):
        found = [d * 10.0**p for p in powers for d in digits if low <= d * 10.0**p <= high]
        if len(found) <= MOST_TICKS:
            return found
    every = math.ceil(len(found) / MOST_TICKS)
    return found[::every]


def time_ticks(low: float, high: float) -> Callable[[float], str]:
    """Words for ticks of values in seconds: one unit along the whole axis."""
    return unit_ticks((low, high), "s")


def unit_ticks(values: Iterable[float], unit: str) -> Callable[[float], str]:
    """Words for ticks in one prefix of `unit`, that of the largest value."""
    factor, name = scale(max(map(abs, values)), unit)
    return lambda value: f"{value / factor:,.6g} {name}".rstrip() if value else "0"
