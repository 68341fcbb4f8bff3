"""The service's latest answers: quantile with interval, rate, silence."""

from __future__ import annotations

from collections import deque

from aferir.colocation.histogram import Windows, enough
from aferir.colocation.sensors.base import Sensor
from aferir.colocation.settings import Latency, Sla

_SLOT_S = 0.5
_SLOTS = 60
_LEAST_SLOTS = 2
_RATE_S = 2.0


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
        self.problem = ""
        """Why nothing may have been read; empty: all is well."""

    def look(self, time_s: float) -> None:
        """Read what came since the last look."""
        found = self._sensor.look()
        self.problem = found.problem
        self._windows.add(time_s, found.latencies)
        answers = found.latencies.total * found.each
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

    def silent_s(self, time_s: float) -> float:
        """Since the last answer, or since the start."""
        return time_s - self._last_s
