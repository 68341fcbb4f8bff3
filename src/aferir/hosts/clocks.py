"""Converts times of another host's clock to our clock, with a guaranteed error bound.

The clock there is read between the sending of a message and its answer, so its offset is known to
within half the round-trip time (Cristian 1989). Two exchanges give the rate as well, as in librgap
(Dutra 2015, section 6.2; docs/reference/clock.md): from then on the error grows only by the
uncertainty of that rate, and not by the difference of the two oscillators. Both clocks are
`linux.steady`, which no time daemon adjusts.
"""

from __future__ import annotations

from typing import Self

import msgspec

from aferir.linux import steady
from aferir.model.stamps import Stamp

RATE_LIMIT = 250e-6
"""Largest relative difference of two oscillators (s/s): `rate_limit_ppm` of librgap."""
WANDER = 0.25e-6
"""Half-width of the range (s/s) within which that difference varies: `wander_ppm` of librgap."""

_WORTH_SAYING_S = 1.0
_UNITS = ((31_557_600.0, "years"), (86_400.0, "days"), (3600.0, "hours"), (1.0, "s"))


class Offset(msgspec.Struct, frozen=True):
    """Offset of another host's clock, as one exchange of messages measured it."""

    ahead_ns: int
    """Offset in ns by which the clock there is ahead of ours; negative if it is behind."""
    bound_ns: int
    """Largest error of the offset in ns, at the time of the exchange."""
    at_ns: int
    """Middle of the exchange on our clock, in ns since 1970."""


class Clock(msgspec.Struct, frozen=True):
    """Clock of another host: offset from the latest exchange, rate from it and an earlier one."""

    latest: Offset
    earlier: Offset | None = None
    """Earlier exchange, which gives the rate; None: the rate is only known to be within
    `RATE_LIMIT`.
    """

    @property
    def rate(self) -> float:
        """Relative rate (s/s) by which the clock there is faster than ours; 0.0 if unknown."""
        if self.earlier is None:
            return 0.0
        elapsed_ns = self.latest.at_ns - self.earlier.at_ns
        return (self.latest.ahead_ns - self.earlier.ahead_ns) / elapsed_ns

    @property
    def rate_bound(self) -> float:
        """Largest error of `rate`, in s/s."""
        if self.earlier is None:
            return RATE_LIMIT
        return _rate_bound(self.earlier, self.latest)

    def ahead_at(self, now_ns: int) -> int:
        """Offset in ns at a time of our clock."""
        return self.latest.ahead_ns + round(self.rate * (now_ns - self.latest.at_ns))

    def bound_at(self, now_ns: int) -> int:
        """Largest error in ns of the offset at a time of our clock."""
        growth = self.rate_bound + (2 * WANDER if self.earlier is not None else 0.0)
        # The reading is up to half a round trip away from the middle of its exchange, and so is
        # our time of an event that is told by the clock there.
        elapsed_ns = abs(now_ns - self.latest.at_ns) + 2 * self.latest.bound_ns
        stretch = 1 + growth + abs(self.rate)
        return self.latest.bound_ns + round(growth * stretch * elapsed_ns) + 1

    def stamp(self, there_unix_ns: int) -> Stamp:
        """Convert a time of the clock there, in ns since 1970, to our clock."""
        latest = self.latest
        since_ns = there_unix_ns - latest.ahead_ns - latest.at_ns
        now_ns = latest.at_ns + since_ns - round(since_ns * self.rate / (1 + self.rate))
        return Stamp(now_ns, self.bound_at(now_ns))

    def after(self, look: Offset) -> Self:
        """Clock after a further exchange, which is used if it narrows the bound.

        If the exchange contradicts the offset known so far, one of the clocks has jumped, as when a
        machine is suspended or moved; then all earlier exchanges are dropped.
        """
        known_ns = self.bound_at(look.at_ns)
        if abs(look.ahead_ns - self.ahead_at(look.at_ns)) > known_ns + look.bound_ns:
            return type(self)(look)
        if look.bound_ns > known_ns:
            return self
        before = [one for one in (self.earlier, self.latest) if one and one.at_ns < look.at_ns]
        best = min(before, key=lambda one: _rate_bound(one, look), default=None)
        if best is None or _rate_bound(best, look) >= RATE_LIMIT:
            return type(self)(look)
        return type(self)(look, best)


def _rate_bound(earlier: Offset, later: Offset) -> float:
    return (earlier.bound_ns + later.bound_ns) / (later.at_ns - earlier.at_ns)


def seen(sent_ns: int, there_unix_ns: int) -> Offset:
    """Offset from an exchange that has just finished; `sent_ns` is our time of its beginning."""
    return look(sent_ns, there_unix_ns, steady.unix_ns())


def look(sent_ns: int, there_unix_ns: int, now_ns: int) -> Offset:
    """Offset of a clock that was read at some time between `sent_ns` and `now_ns` of our clock."""
    half_ns = (now_ns - sent_ns + 1) // 2
    middle_ns = now_ns - half_ns
    return Offset(there_unix_ns - middle_ns, half_ns, middle_ns)


def told(offset: Offset) -> str:
    """Sentence about a clock that is off by at least one second; otherwise empty."""
    off_s = abs(offset.ahead_ns) / 1e9
    if off_s < _WORTH_SAYING_S:
        return ""
    size, unit = next((size, unit) for size, unit in _UNITS if off_s >= size)
    way = "ahead of" if offset.ahead_ns > 0 else "behind"
    return f"its clock is {off_s / size:.3g} {unit} {way} the one here"
