"""The roofline: which of two limits binds a program, and how near it comes to it.

Williams, Waterman and Patterson, CACM 52 (2009): a program that does `intensity` operations for
each byte that memory moves for it can do no more than min(peak, intensity * bandwidth) a second.
"""

from __future__ import annotations

import math
from typing import Literal

import msgspec

Limit = Literal["memory", "arithmetic"]


class Roof(msgspec.Struct, frozen=True):
    """What a machine can do, both measured. Errors: ValueError where either is not positive."""

    peak: float
    """Floating-point operations a second."""
    bandwidth: float
    """Bytes a second from and to memory."""

    def __post_init__(self) -> None:
        if not (self.peak > 0 and self.bandwidth > 0):
            raise ValueError("a roof takes a positive peak and a positive bandwidth")

    @property
    def ridge(self) -> float:
        """Intensity in operations a byte from which on arithmetic is the limit."""
        return self.peak / self.bandwidth

    def at(self, intensity: float) -> float:
        """The most operations a second of a program of this intensity."""
        return self.peak if intensity >= self.ridge else intensity * self.bandwidth

    def limit(self, intensity: float) -> Limit:
        """Which one it is."""
        return "arithmetic" if intensity >= self.ridge else "memory"

    def share(self, intensity: float, rate: float) -> float:
        """Of what is attainable; above 1 where the caches serve what the model has memory serve.

        `intensity` in operations a byte, infinite for a program without memory traffic; `rate` in
        operations a second. Errors: ValueError where either is not positive, or `rate` is infinite.
        """
        if not (intensity > 0 and rate > 0 and math.isfinite(rate)):
            raise ValueError("a place under a roof takes a positive intensity and rate")
        return rate / self.at(intensity)
