"""Roofline model: which of two limits bounds a program, and how close it comes to it.

Williams, Waterman and Patterson, CACM 52 (2009): a program that performs `intensity` operations for
each byte transferred from or to memory reaches at most min(peak, intensity * bandwidth) operations
per second.
"""

from __future__ import annotations

import math
from typing import Literal

import msgspec

Limit = Literal["memory", "arithmetic", "caches"]
"""Limit that bounds a program. `caches`: more data moved than memory can deliver, so the roof is
the peak rate.
"""


class Place(msgspec.Struct, frozen=True):
    """Position of a program under a roofline."""

    roof: float
    """Attainable rate in operations/s."""
    limit: Limit
    share: float
    """Ratio of the measured to the attainable rate."""


class Roof(msgspec.Struct, frozen=True):
    """Measured limits of a machine. Errors: ValueError if either is not positive."""

    peak: float
    """Peak rate in floating-point operations/s."""
    bandwidth: float
    """Memory bandwidth in byte/s, reads and writes together."""

    def __post_init__(self) -> None:
        if not (self.peak > 0 and self.bandwidth > 0):
            raise ValueError("a roof takes a positive peak and a positive bandwidth")

    @property
    def ridge(self) -> float:
        """Intensity in operations/byte above which arithmetic is the limit, not bandwidth."""
        return self.peak / self.bandwidth

    def at(self, intensity: float) -> float:
        """Attainable operations/s of a program with this intensity."""
        return self.peak if intensity >= self.ridge else intensity * self.bandwidth

    def limit(self, intensity: float) -> Limit:
        """Limit of a program with this intensity if memory serves its bytes."""
        return "arithmetic" if intensity >= self.ridge else "memory"

    def place(self, intensity: float, rate: float) -> Place:
        """Position under the roof of a program with this intensity and this measured rate.

        A rate above the memory roof contradicts the model that memory serves the bytes: caches
        served them, and the roof is the peak rate. `intensity` in operations/byte, infinite for a
        program without memory traffic; `rate` in operations/s. Errors: ValueError where either is
        not positive, or `rate` is infinite.
        """
        if not (intensity > 0 and rate > 0 and math.isfinite(rate)):
            raise ValueError("a place under a roof takes a positive intensity and rate")
        roof, limit = self.at(intensity), self.limit(intensity)
        if limit == "memory" and rate > roof:
            roof, limit = self.peak, "caches"
        return Place(roof, limit, rate / roof)
