"""Classifies a line of a log: a response and its time, a failure, no response, or not understood.

This is the one definition of a response time: how long a successful request took. Not response
times are the lifetime of an upgraded connection (status 101), the time a client took to send its
request (408), a connection closed without an answer on purpose (444), and a failed request: a
server error (500 and above), a client that gave up (499), or no answer (0 and below). A failed
request counts against the service level; its duration does not count as a response time.
"""

from __future__ import annotations

import enum
from collections.abc import Callable

import msgspec

_ASIDE = frozenset({101, 408, 444})
_CLIENT_GAVE_UP = 499
_SERVER_FAILED = 500
_MOST_STATUS = 999


class Kind(enum.Enum):
    """Class to which a line of a log belongs."""

    ANSWER = enum.auto()
    FAILED = enum.auto()
    """A request without a successful response."""
    ASIDE = enum.auto()
    """Understood, but no response: a stream's lifetime, a part of another entry."""
    UNREAD = enum.auto()
    """A line that cannot be parsed."""


class Heard(msgspec.Struct, frozen=True):
    """One classified line; a response also has its time in seconds."""

    kind: Kind
    latency_s: float = 0.0


Parser = Callable[[bytes], Heard]
"""Classifies a line. Errors: none, whatever the line contains."""

FAILED = Heard(Kind.FAILED)
ASIDE = Heard(Kind.ASIDE)
UNREAD = Heard(Kind.UNREAD)


def answer(latency_s: float | None) -> Heard:
    """A successful response, or UNREAD if its time could not be parsed."""
    return UNREAD if latency_s is None else Heard(Kind.ANSWER, latency_s)


def by_status(status: int | None) -> Heard | None:
    """Class of a line by its status alone; None if it is a success or the status is unknown."""
    if status is None or status > _MOST_STATUS:
        return None
    if status in _ASIDE:
        return ASIDE
    if status <= 0 or status == _CLIENT_GAVE_UP or status >= _SERVER_FAILED:
        return FAILED
    return None


def first_of(*parsers: Parser) -> Parser:
    """Make a parser that returns the result of the first parser that understands the line."""

    def parse(line: bytes) -> Heard:
        for one in parsers:
            heard = one(line)
            if heard is not UNREAD:
                return heard
        return UNREAD

    return parse
