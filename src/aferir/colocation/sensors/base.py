"""What every sensor of a service's latency gives: a look at what came since the last one."""

from __future__ import annotations

from typing import Protocol

import msgspec

from aferir.colocation.histogram import Histogram


class Look(msgspec.Struct, frozen=True):
    """What came since the look before.

    Whoever looks knows the time; a sensor reads no wall clock, so a step of one changes nothing.
    """

    latencies: Histogram
    """Latencies of good answers."""
    failed: int = 0
    """Requests known to have got no good answer; none of them is among the latencies unless
    `failed_within` says so."""
    failed_within: bool = False
    """Whether failed requests are among the latencies already, as long as they were waited for."""
    aside: int = 0
    """Lines that were understood and tell of no answer: a stream's lifetime, a part of an entry."""
    unread: int = 0
    """Lines or series that the sensor could make no sense of."""
    each: int = 1
    """Answers that each latency stands for, where there are so many that only some were read."""
    problem: str = ""
    """Why the latencies may not be those of the service; empty: all is well."""

    @property
    def lines(self) -> int:
        """Lines that were read, of a log."""
        return self.latencies.total + self.failed + self.aside + self.unread


class Sensor(Protocol):
    """One way to learn a service's latencies. Never waits for the service."""

    @property
    def helpers(self) -> tuple[int, ...]:
        """Processes that work for it, and cost what the controller would."""

    def look(self) -> Look:
        """What came since the last look. Errors: none; trouble is in `Look.problem`."""

    def close(self) -> None:
        """Give back files, threads and processes."""
