"""What a source of power is, and what it says of itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import msgspec

from aferir.errors import AferirError

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
    assumption: str = ""
    """What was taken for granted, e.g. a power factor."""


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """One answer of a source; what it does not know is None."""

    power_w: float | None = None
    energy_j: float | None = None
    """Of a counter that only rises, until it starts again after `wraps_j`."""
    wraps_j: float = math.inf
    apparent_va: float | None = None
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


def power_between(before: Counter, after: Counter) -> float | None:
    """Mean power in watts: what the device says, or the rise of its counter over the time.

    None where no time passed, or neither is there.
    """
    if after.reading.power_w is not None:
        return after.reading.power_w
    first, last = before.reading.energy_j, after.reading.energy_j
    elapsed = after.at_s - before.at_s
    if first is None or last is None or elapsed <= 0:
        return None
    if last < first:
        last += after.reading.wraps_j
    return (last - first) / elapsed
