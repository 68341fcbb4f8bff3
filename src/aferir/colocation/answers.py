"""Keeps a service's latest responses: their latency quantile, rate, and when the last one came."""

from __future__ import annotations

from collections import deque

import msgspec

from aferir.colocation.histogram import Histogram, Windows, enough
from aferir.colocation.sensors.base import Look, Sensor
from aferir.colocation.settings import Latency, Sla
from aferir.colocation.silence import Silence

_SLOT_S = 0.5
_SLOTS = 60
_LEAST_SLOTS = 2
_RATE_S = 2.0
_FAILED_AS = 5.0
"""Latency recorded for a failed request, as a multiple of the SLA's bound; a probe gives up after
the same time."""
_STALE_S = 1.0


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """Totals of what a sensor read during a run, scaled up if it read only a sample."""

    answers: int = 0
    """Number of requests that were answered or failed."""
    failed: int = 0
    aside: int = 0
    """Number of lines of a log that are no responses."""
    unread: int = 0
    """Number of lines of a log, or of a scrape, that could not be parsed."""

    def __add__(self, other: Read) -> Read:
        """Add the totals of another service."""
        return Read(
            answers=self.answers + other.answers,
            failed=self.failed + other.failed,
            aside=self.aside + other.aside,
            unread=self.unread + other.unread,
        )

    def and_then(self, look: Look, answers: int) -> Read:
        """Add one result of a sensor that contains `answers` requests, including failed ones."""
        return Read(
            answers=self.answers + answers,
            failed=self.failed + look.failed * look.each,
            aside=self.aside + look.aside * look.each,
            unread=self.unread + look.unread * look.each,
        )


class Answers:
    """Reads a sensor once per control period."""

    def __init__(self, sensor: Sensor, sla: Sla, time_s: float) -> None:
        """Start reading at `time_s`, in seconds on the monotonic clock used by all methods."""
        self._sensor = sensor
        self._sla = sla
        self._enough = enough(sla.quantile)
        self._windows = Windows(_SLOT_S, _SLOTS)
        # Responses during start-up are valid latencies, but their times are unknown.
        self._windows.add(time_s, sensor.look().latencies)
        self._counts: deque[tuple[float, int]] = deque([(time_s, 0)])
        self._counted = 0
        """Sum of `_counts` without the first, whose responses came before the window of the
        rate."""
        self._last_s = time_s
        self._silence = Silence(time_s)
        self._came = 0
        self.latency = self._quantile()
        """The SLA's quantile over the last second, or over a longer time if its interval needs
        that.
        """
        self.problem = ""
        """Why some responses may not have been read; "" if there is no problem."""
        self.read = Read()
        """Totals of what was read since the start."""

    def look(self, time_s: float) -> None:
        """Read what has come since the last call.

        A failed request is recorded as a latency that violates the SLA.
        """
        found = self._sensor.look()
        self.problem = found.problem
        latencies = found.latencies
        if found.failed and not found.failed_within:
            latencies = Histogram()
            latencies.merge(found.latencies)
            latencies.add(_FAILED_AS * self._sla.bound_s, found.failed)
        self._windows.add(time_s, latencies)
        self.latency = self._quantile()
        answers = latencies.total * found.each
        self._came = answers
        self.read = self.read.and_then(found, answers)
        self._counts.append((time_s, answers))
        self._counted += answers
        while len(self._counts) > 2 and self._counts[1][0] <= time_s - _RATE_S:
            self._counts.popleft()
            self._counted -= self._counts[0][1]
        if answers:
            self._last_s = time_s

    def _quantile(self) -> Latency | None:
        return self._windows.latest(self._enough, _LEAST_SLOTS).latency(self._sla.quantile)

    @property
    def rate(self) -> float:
        """Responses per second over the last 2 s; at first since the start, at least 0.5 s."""
        seconds = self._counts[-1][0] - self._counts[0][0]
        return self._counted / max(seconds, _SLOT_S)

    def blind(self, time_s: float, service_cpus: float) -> str:
        """Why the latency is not current; "" if it is. Call it once after each `look`.

        `service_cpus`: CPU seconds per second that the service used since the previous call.
        """
        unheard = self._silence.look(time_s, self._came, service_cpus)
        if unheard:
            return unheard
        if self.problem and self.silent_s(time_s) > _STALE_S:
            return self.problem
        return "" if self.latency is not None else "no answer was read yet"

    def silent_s(self, time_s: float) -> float:
        """Seconds since the last response, or since the start."""
        return time_s - self._last_s
