"""The interface of all sensors of a service's latency, and the result of one call of a sensor."""

from __future__ import annotations

from typing import Protocol

import msgspec

from aferir.colocation.histogram import Histogram


class Look(msgspec.Struct, frozen=True):
    """New results of a sensor since its previous call.

    It contains no times: the caller knows when it calls, and as no sensor reads a wall clock, a
    step of that clock changes nothing.
    """

    latencies: Histogram
    """Response times of successful requests."""
    failed: int = 0
    """Requests known to have failed; they are not among the latencies unless `failed_within` is
    set."""
    failed_within: bool = False
    """Whether failed requests are among the latencies already, with the time spent waiting for
    them."""
    aside: int = 0
    """Number of lines that were understood but are no response: a stream's lifetime, a part of an
    entry.
    """
    unread: int = 0
    """Number of lines or series that the sensor could not parse."""
    each: int = 1
    """Number of responses that each latency represents, more than 1 if only a sample was read."""
    problem: str = ""
    """Reason why the latencies may be wrong or incomplete; "" if there is no problem."""

    @property
    def lines(self) -> int:
        """Number of log lines that were read."""
        return self.latencies.total + self.failed + self.aside + self.unread


class Sensor(Protocol):
    """One way to measure a service's latency. A sensor never blocks on the service."""

    @property
    def helpers(self) -> tuple[int, ...]:
        """Process IDs of the sensor's helpers, whose cost counts as the controller's own."""

    def look(self) -> Look:
        """Return results since the previous call. Errors: none; problems are in `Look.problem`."""

    def close(self) -> None:
        """Release files, threads and processes."""
