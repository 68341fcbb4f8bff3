"""Latencies from a log of the service, line by line."""

from __future__ import annotations

from pathlib import Path

from aferir.colocation.histogram import Histogram
from aferir.colocation.sensors.base import Look
from aferir.colocation.sensors.lines import Parser
from aferir.colocation.sensors.tail import Tail

MOST_LINES = 100
"""Read in one look: a thousand a second are enough for a narrow interval of a 95th percentile."""


class LogSensor:
    """Reads what a log gained.

    Lines that tell no latency are counted and not complained about, unless no line tells any:
    then the parser does not fit the log. Of very many lines only each so many-th is read: the time
    that this takes is bounded, however busy the service is.
    """

    helpers: tuple[int, ...] = ()

    def __init__(self, path: Path, parse: Parser) -> None:
        self._tail = Tail(path)
        self._path = path
        self._parse = parse
        self._fits: bool | None = None
        """Whether the parser does, once there was a line."""

    def look(self) -> Look:
        """See `Sensor`."""
        latencies = Histogram()
        unread = 0
        lines = self._tail.lines()
        each = len(lines) // MOST_LINES + 1
        each += 1 - each % 2  # odd: a slow log tells of queries and fetches in turns
        for line in lines[::each]:
            latency_s = self._parse(line)
            if latency_s is None:
                unread += 1
            else:
                latencies.add(latency_s)
        if latencies.total or unread:
            self._fits = self._fits or latencies.total > 0
        problem = self._tail.problem
        if not problem and self._fits is False:
            problem = f"{self._path}: none of its new lines tells a latency"
        return Look(latencies=latencies, unread=unread, each=each, problem=problem)

    def close(self) -> None:
        """See `Sensor`."""
        self._tail.close()
