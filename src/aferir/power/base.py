"""The Protocol of power sources, their descriptions and readings."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import msgspec

from aferir.errors import AferirError

_NEAR_END = 0.5
"""Share of a counter's range: a counter that decreases from below it was reset, not wrapped."""

Fetch = Callable[[], str]
"""Requests text from the device. Errors: as for `Source.read`."""


class PowerError(AferirError):
    """A power source does not answer, or its answer is invalid."""

    exit_code = 4


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """Properties of the readings of one power source."""

    name: str
    """Name as given by the user: `rapl`, `nut:ups@127.0.0.1:3493`."""
    scope: str
    """Object whose power it is: `server`, `processor package`, `outlet`, ..."""
    resolution_w: float = 0.0
    """Resolution of readings in watts; 0: unknown, or continuous."""
    period_s: float = 0.0
    """Seconds between updates; 0: unknown, or a measurement for each reading."""
    accuracy: float = 0.0
    """Relative accuracy according to the manufacturer; 0: unknown."""
    most_w: float = math.inf
    """Upper limit in watts; a reading above it is impossible."""
    least_w: float = 0.0
    """Lower limit in watts, for example that of a whole server; a reading below it is
    impossible."""
    assumption: str = ""
    """Assumption behind the readings, such as a power factor."""


def worth(device: Description) -> str:
    """Uncertainties and assumptions of a device's readings; "" if none are known."""
    said = []
    if device.resolution_w:
        said.append(f"steps of {device.resolution_w:.3g} W")
    if device.accuracy:
        said.append(f"accurate to {100 * device.accuracy:.3g} % of it")
    if device.assumption:
        said.append(f"assumed: {device.assumption}")
    return "; ".join(said)


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """One reading of a source; a value that the source does not report is None."""

    power_w: float | None = None
    energy_j: float | None = None
    """Counter of energy, which rises until it wraps around at `wraps_j`."""
    wraps_j: float = math.inf
    apparent_va: float | None = None
    doubt: str = ""
    """Why the device's other figures contradict this power; "" if they do not."""
    stale: str = ""
    """Why this is not a fresh reading, according to the device; "" if it is."""


class Source(Protocol):
    """One device, which `read` queries; computations on its readings are elsewhere."""

    def describe(self) -> Description:
        """Properties of the readings. Errors: PowerError, MissingError."""
        ...

    def read(self) -> Reading:
        """Query the device. Errors: PowerError, MissingError if it is gone."""
        ...


class Counter(msgspec.Struct, frozen=True):
    """A reading and its time, in seconds on a monotonic clock."""

    at_s: float
    reading: Reading


def wraps_within_s(reading: Reading, most_w: float) -> float:
    """Shortest time in seconds after which the reading's counter may wrap around; inf: never."""
    return reading.wraps_j / most_w if 0 < most_w < math.inf else math.inf


def power_between(before: Counter, after: Counter, most_w: float = math.inf) -> float | None:
    """Mean power in watts: the device's own value, or the increase of its counter per second.

    A counter that has decreased has wrapped around or was reset; it was reset if a wrap-around
    would imply more than `most_w`. None if it was reset or may have wrapped around more than once,
    no time has passed, or neither value is available.
    """
    if after.reading.power_w is not None:
        return after.reading.power_w
    first, last = before.reading.energy_j, after.reading.energy_j
    elapsed = after.at_s - before.at_s
    if first is None or last is None or elapsed <= 0:
        return None
    if elapsed >= wraps_within_s(after.reading, most_w):
        return None
    if last < first:
        last += after.reading.wraps_j
        if not 0 <= last - first <= most_w * elapsed or first < after.reading.wraps_j * _NEAR_END:
            return None
    return (last - first) / elapsed
