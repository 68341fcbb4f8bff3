"""The service's latest answers: quantile with interval, rate, silence."""

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
"""Bounds of the service level that a failed request counts as, like one given up by a probe."""
_STALE_S = 1.0


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """What a sensor read in the course of a run; of very many lines, what those read stand for."""

    answers: int = 0
    """Requests, the failed ones among them."""
    failed: int = 0
    aside: int = 0
    """Lines of a log that tell of no answer."""
    unread: int = 0
    """Lines of a log, or of a scrape, that were not understood."""

    def and_then(self, look: Look, answers: int) -> Read:
        """These, with one look more."""
        return Read(
            answers=self.answers + answers,
            failed=self.failed + look.failed * look.each,
            aside=self.aside + look.aside * look.each,
            unread=self.unread + look.unread * look.each,
        )


class Answers:
    """A sensor read once a control period."""

    def __init__(self, sensor: Sensor, sla: Sla, time_s: float) -> None:
        """`time_s`: on the clock that only goes forward, as everywhere here."""
        self._sensor = sensor
        self._sla = sla
        self._enough = enough(sla.quantile)
        self._windows = Windows(_SLOT_S, _SLOTS)
        # What came while everything was started is a latency, but nobody knows of what time.
        self._windows.add(time_s, sensor.look().latencies)
        self._counts: deque[tuple[float, int]] = deque([(time_s, 0)])
        self._counted = 0
        """Of all counts but the first, which came before its time."""
        self._last_s = time_s
        self._silence = Silence(time_s)
        self._came = 0
        self.problem = ""
        """Why not all may have been read; empty: all is well."""
        self.read = Read()
        """What was read altogether."""

    def look(self, time_s: float) -> None:
        """Read what came since the last look.

        A request that failed is among the latencies as one that misses the service level.
        """
        found = self._sensor.look()
        self.problem = found.problem
        latencies = found.latencies
        if found.failed and not found.failed_within:
            latencies = Histogram()
            latencies.merge(found.latencies)
            latencies.add(_FAILED_AS * self._sla.bound_s, found.failed)
        self._windows.add(time_s, latencies)
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

    @property
    def latency(self) -> Latency | None:
        """The SLA's quantile over the last second, or over so long that it has an interval."""
        return self._windows.latest(self._enough, _LEAST_SLOTS).latency(self._sla.quantile)

    @property
    def rate(self) -> float:
        """Answers a second over the last two; half a second at least."""
        seconds = self._counts[-1][0] - self._counts[0][0]
        return self._counted / max(seconds, _SLOT_S)

    def blind(self, time_s: float, service_cpus: float) -> str:
        """Why the latency is not that of now, to be asked once after each look; empty: it is.

        `service_cpus`: CPU seconds per second that the service used since the look before.
        """
        unheard = self._silence.look(time_s, self._came, service_cpus)
        if unheard:
            return unheard
        if self.problem and self.silent_s(time_s) > _STALE_S:
            return self.problem
        return "" if self.latency is not None else "no answer was read yet"

    def silent_s(self, time_s: float) -> float:
        """Since the last answer, or since the start."""
        return time_s - self._last_s
