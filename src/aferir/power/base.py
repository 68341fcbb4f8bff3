"""What a source of power is, and what it says of itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import msgspec

from aferir.errors import AferirError

_NEAR_END = 0.5
"""Share of a counter's range, below which it was reset and did not pass its end."""

Fetch = Callable[[], str]
"""Asks the device: text as it comes. Errors: as in `Source.read`."""


class PowerError(AferirError):
    """A source of power does not answer, or answers nonsense."""

    exit_code = 4


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """What a source's readings are worth."""

    name: str
    """As it was asked for: `rapl`, `nut:ups@127.0.0.1:3493`."""
    scope: str
    """Whose power: `server`, `processor package`, `outlet`, ..."""
    resolution_w: float = 0.0
    """Step between readings; 0: not known, or none."""
    period_s: float = 1.0
    """How often it has something new."""
    accuracy: float = 0.0
    """Relative, as its maker says; 0: not known."""
    most_w: float = math.inf
    """No reading above this can be true."""
    least_w: float = 0.0
    """No reading below this can be true: that of a whole server, say."""
    assumption: str = ""
    """What was taken for granted, e.g. a power factor."""


def worth(device: Description, mean_w: float) -> str:
    """What a mean of its readings is uncertain by, and what was assumed; empty: no idea."""
    said = []
    if device.resolution_w:
        said.append(f"steps of {device.resolution_w:.3g} W")
    if device.accuracy:
        said.append(f"accurate to {device.accuracy * mean_w:.3g} W ({device.accuracy:.2g} of it)")
    if device.assumption:
        said.append(f"assumed: {device.assumption}")
    return "; ".join(said)


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """One answer of a source; what it does not know is None."""

    power_w: float | None = None
    energy_j: float | None = None
    """Energy of a counter that only rises, until it starts again after `wraps_j`."""
    wraps_j: float = math.inf
    apparent_va: float | None = None
    doubt: str = ""
    """Why its own other figures say that this cannot be its power."""
    stale: str = ""
    """Why the device itself says that this is no fresh reading."""


class Source(Protocol):
    """One device. It is asked by `read`; the arithmetic on what it says is apart."""

    def describe(self) -> Description:
        """What the readings are worth. Errors: PowerError, MissingError."""
        ...

    def read(self) -> Reading:
        """Ask the device. Errors: PowerError, MissingError where it is gone."""
        ...


class Counter(msgspec.Struct, frozen=True):
    """A reading and when it was taken, seconds of a clock that does not step."""

    at_s: float
    reading: Reading


def power_between(before: Counter, after: Counter, most_w: float = math.inf) -> float | None:
    """Mean power in watts: what the device says, or the rise of its counter over the time.

    A counter that is less than it was has passed its end, or else was reset: that it has where
    more than `most_w` would have flowed until its end. None where it was reset, no time passed, or
    neither is there.
    """
    if after.reading.power_w is not None:
        return after.reading.power_w
    first, last = before.reading.energy_j, after.reading.energy_j
    elapsed = after.at_s - before.at_s
    if first is None or last is None or elapsed <= 0:
        return None
    if last < first:
        last += after.reading.wraps_j
        if not 0 <= last - first <= most_w * elapsed or first < after.reading.wraps_j * _NEAR_END:
            return None
    return (last - first) / elapsed
