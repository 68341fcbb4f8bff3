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
    failed: int = 0
    """Requests known to have got no good answer; none of them is among the latencies unless the
    sensor says so."""
    unread: int = 0
    """Lines or series that the sensor could make no sense of."""
    each: int = 1
    """Answers that each latency stands for, where there are so many that only some were read."""
    problem: str = ""
    """Why there may be no latencies although there were requests; empty: all is well."""


class Sensor(Protocol):
    """One way to learn a service's latencies. Never waits for the service."""

    @property
    def helpers(self) -> tuple[int, ...]:
        """Processes that work for it, and cost what the controller would."""

    def look(self) -> Look:
        """What came since the last look. Errors: none; trouble is in `Look.problem`."""

    def close(self) -> None:
        """Give back files, threads and processes."""
