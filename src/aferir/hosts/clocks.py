"""How far the clock of another host is ahead of ours, between bounds that hold.

Whatever a message takes on its way out and back, the clock there was read in between: the offset
lies within half the round trip (Cristian 1989). The bound grows with the age of that look.
"""

from __future__ import annotations

import time

import msgspec

WANDER = 100e-6
"""Seconds that two clocks may drift apart in a second, at most: of the oscillators of ordinary
machines, and with the frequency steps that time daemons make (adjtimex(2) allows 500e-6)."""

_WORTH_SAYING_S = 1.0
_UNITS = ((31_557_600.0, "years"), (86_400.0, "days"), (3600.0, "hours"), (1.0, "s"))


class Offset(msgspec.Struct, frozen=True):
    """One look at a clock there."""

    ahead_ns: int
    """By how much it is ahead of ours; below zero where it is behind."""
    bound_ns: int
    """The true value is at most so far from that, at that moment."""
    at_ns: int
    """A moment of our monotonic clock."""

    def bound_at(self, now_ns: int) -> int:
        """How far the truth may be from it at another moment, in ns."""
        return self.bound_ns + round(WANDER * abs(now_ns - self.at_ns))


def seen(sent_ns: int, there_unix_ns: int) -> Offset:
    """The look that has just come back, asked for at `sent_ns` of the monotonic clock."""
    now_ns, unix_ns = time.monotonic_ns(), time.time_ns()
    return look(sent_ns, there_unix_ns, now_ns, unix_ns)


def look(sent_ns: int, there_unix_ns: int, now_ns: int, unix_ns: int) -> Offset:
    """Offset by one exchange; `now_ns` and `unix_ns` are our two clocks when its answer came."""
    half_ns = (now_ns - sent_ns + 1) // 2
    return Offset(there_unix_ns - (unix_ns - half_ns), half_ns, now_ns)


def closer(before: Offset | None, after: Offset) -> Offset:
    """Which of two looks says more at the moment of the later one."""
    if before is None or after.bound_ns <= before.bound_at(after.at_ns):
        return after
    return before


def told(offset: Offset) -> str:
    """What is to be said of a clock that is a second or more off; else nothing."""
    off_s = abs(offset.ahead_ns) / 1e9
    if off_s < _WORTH_SAYING_S:
        return ""
    size, unit = next((size, unit) for size, unit in _UNITS if off_s >= size)
    way = "ahead of" if offset.ahead_ns > 0 else "behind"
    return f"its clock is {off_s / size:.3g} {unit} {way} the one here"


def in_order(first_ns: int, one: Offset, second_ns: int, other: Offset, now_ns: int) -> bool | None:
    """Whether the first of two events of two hosts came first; None where the bounds do not tell.

    `first_ns` and `second_ns` are of those hosts' own clocks.
    """
    apart_ns = (second_ns - other.ahead_ns) - (first_ns - one.ahead_ns)
    if abs(apart_ns) <= one.bound_at(now_ns) + other.bound_at(now_ns):
        return None
    return apart_ns > 0
