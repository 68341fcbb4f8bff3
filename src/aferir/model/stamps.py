"""Times of events on the controller's clock, with the largest error of each."""

from __future__ import annotations

import msgspec


class Stamp(msgspec.Struct, frozen=True):
    """Time of an event, with its largest error."""

    unix_ns: int
    """Time in ns since 1970 on the clock of the host where aferir runs."""
    bound_ns: int = 0
    """Largest error in ns; 0 for events on the host where aferir runs."""


def in_order(first: Stamp, second: Stamp) -> bool | None:
    """True if the first of two events came first; None if their bounds overlap."""
    apart_ns = second.unix_ns - first.unix_ns
    if abs(apart_ns) <= first.bound_ns + second.bound_ns:
        return None
    return apart_ns > 0


def between(first_ns: int, last_ns: int, lasted_s: float) -> Stamp:
    """Start of an event that lasted `lasted_s` between two times of our clock, as a range."""
    spare_ns = max(0, last_ns - first_ns - round(lasted_s * 1e9))
    return Stamp(first_ns + spare_ns // 2, (spare_ns + 1) // 2)
