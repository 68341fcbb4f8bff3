"""Reads latencies from a service's log, line by line."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from pathlib import Path

import msgspec

from aferir.colocation.histogram import Histogram
from aferir.colocation.sensors import wrappers
from aferir.colocation.sensors.base import Look
from aferir.colocation.sensors.formats.presets import fitting
from aferir.colocation.sensors.heard import Kind, Parser
from aferir.colocation.sensors.tail import Tail

MOST_LINES = 100
"""Largest number of lines parsed per call: a thousand a second suffice for a narrow interval of a
95th percentile.
"""
_REMEMBERED = 1000
"""Number of lines above which all counts are halved, so that the latest lines weigh most in the
share of unparsed lines.
"""
_STEPS = ((0.5, "more than half"), (0.1, "more than a tenth"), (0.01, "more than a hundredth"))
_UNKNOWN = "; give the format that the service writes, e.g. nginx:PATH#FORMAT"
_PAST_BYTES = 1 << 16


class LogSensor:
    """Reads the lines that a log gains, without the prefixes that log drivers add.

    Lines that cannot be parsed are counted, as they may be the slow requests; from 1 % on their
    share is reported as a problem. If a log gains very many lines, a random one of every `each` is
    parsed: this bounds the time of a call for any load, and cannot be in step with a pattern of the
    log.
    """

    helpers: tuple[int, ...] = ()

    def __init__(self, path: Path, parse: Parser) -> None:
        self._tail = Tail(path)
        self._path = path
        self._parse = parse
        self._pieces: list[bytes] = []
        self._chance = random.Random(1)  # noqa: S311 - which lines are read is no secret
        self._lines = 0.0
        self._unread = 0.0
        self._answers = False
        self._hint: str | None = None
        self._problem = ""

    def look(self) -> Look:
        """Parse the lines that were appended since the previous call."""
        lines = wrappers.entries(self._tail.lines(), self._pieces)
        each = len(lines) // MOST_LINES + 1
        found = self._understood(self._some(lines, each), each)
        problem = self._tail.problem
        if not problem and found.lines:
            self._problem = self._judge(found, lines)
        return msgspec.structs.replace(found, problem=problem or self._problem)

    def past(self) -> Look:
        """Parse the last 64 KiB that the log already held; used by a check, not for decisions."""
        try:
            with self._path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - _PAST_BYTES))
                lines = file.read(_PAST_BYTES).replace(b"\r\n", b"\n").split(b"\n")
        except OSError as error:
            return Look(latencies=Histogram(), problem=f"{self._path}: {error.strerror}")
        whole = lines[1 if size > _PAST_BYTES else 0 : -1]
        return self._understood(wrappers.entries(whole, []), 1)

    def close(self) -> None:
        """Close the log file."""
        self._tail.close()

    def _some(self, lines: Sequence[bytes], each: int) -> Sequence[bytes]:
        if each == 1:
            return lines
        starts = range(0, len(lines) - each + 1, each)
        return [lines[start + self._chance.randrange(each)] for start in starts]

    def _understood(self, lines: Sequence[bytes], each: int) -> Look:
        latencies = Histogram()
        failed = aside = 0
        for line in lines:
            heard = self._parse(line)
            if heard.kind is Kind.ANSWER:
                latencies.add(heard.latency_s)
            elif heard.kind is Kind.FAILED:
                failed += 1
            elif heard.kind is Kind.ASIDE:
                aside += 1
        unread = len(lines) - latencies.total - failed - aside
        return Look(latencies=latencies, failed=failed, aside=aside, unread=unread, each=each)

    def _judge(self, found: Look, lines: Sequence[bytes]) -> str:
        """Reason why the log's latencies may be wrong or incomplete; "" if there is no problem."""
        if self._lines > _REMEMBERED:
            self._lines, self._unread = self._lines / 2, self._unread / 2
        self._answers = self._answers or found.latencies.total + found.failed > 0
        self._lines += found.lines
        self._unread += found.unread
        if found.unread == found.lines:
            if self._hint is None:
                fits = fitting(lines[:MOST_LINES])
                self._hint = f"; they look like those of {fits}" if fits else _UNKNOWN
            word = "none of its new lines tells a latency"
            return f"{self._path}: {word}{self._hint}"
        if found.aside == found.lines and not self._answers:
            return f"{self._path}: none of its new lines tells a latency"
        share = self._unread / self._lines
        return next(
            (
                f"{self._path}: {words} of its lines are not understood"
                for least, words in _STEPS
                if share > least
            ),
            "",
        )
