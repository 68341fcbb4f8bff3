"""Offset of another host's clock from ours, with a guaranteed error bound.

The clock there is read between the sending of a message and its answer, so the offset is known to
within half the round-trip time (Cristian 1989). The bound grows with the age of the exchange.
"""

from __future__ import annotations

import time

import msgspec

from aferir.model.stamps import Stamp

WANDER = 100e-6
"""Largest relative drift of two clocks (s/s): of ordinary oscillators, including the frequency
adjustments of time daemons (adjtimex(2) permits 500e-6).
"""

_WORTH_SAYING_S = 1.0
_UNITS = ((31_557_600.0, "years"), (86_400.0, "days"), (3600.0, "hours"), (1.0, "s"))


class Offset(msgspec.Struct, frozen=True):
    """Offset measured by one exchange."""

    ahead_ns: int
    """Offset in ns by which the clock there is ahead of ours; negative if it is behind."""
    bound_ns: int
    """Largest error of the offset in ns, at the time of the exchange."""
    at_ns: int
    """Time of the exchange on our monotonic clock, in ns."""

    def bound_at(self, now_ns: int) -> int:
        """Largest error of the offset in ns at another time."""
        return self.bound_ns + round(WANDER * abs(now_ns - self.at_ns))

    def stamp(self, there_unix_ns: int, now_ns: int) -> Stamp:
        """Time on our clock of an event on that host; `now_ns` is our monotonic clock's time of it.

        A later time gives a larger bound, and is as right.
        """
        return Stamp(there_unix_ns - self.ahead_ns, self.bound_at(now_ns))


def seen(sent_ns: int, there_unix_ns: int) -> Offset:
    """Offset from an exchange that has just finished, sent at `sent_ns` of the monotonic clock."""
    now_ns, unix_ns = time.monotonic_ns(), time.time_ns()
    return look(sent_ns, there_unix_ns, now_ns, unix_ns)


def look(sent_ns: int, there_unix_ns: int, now_ns: int, unix_ns: int) -> Offset:
    """Offset from one exchange; `now_ns` and `unix_ns` are our two clocks at its answer."""
    half_ns = (now_ns - sent_ns + 1) // 2
    return Offset(there_unix_ns - (unix_ns - half_ns), half_ns, now_ns)


def closer(before: Offset | None, after: Offset) -> Offset:
    """The exchange whose bound is smaller at the time of the later one."""
    if before is None or after.bound_ns <= before.bound_at(after.at_ns):
        return after
    return before


def told(offset: Offset) -> str:
    """Sentence about a clock that is off by at least one second; else empty."""
    off_s = abs(offset.ahead_ns) / 1e9
    if off_s < _WORTH_SAYING_S:
        return ""
    size, unit = next((size, unit) for size, unit in _UNITS if off_s >= size)
    way = "ahead of" if offset.ahead_ns > 0 else "behind"
    return f"its clock is {off_s / size:.3g} {unit} {way} the one here"
