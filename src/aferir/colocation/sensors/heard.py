"""What one line of a log says: an answer's time, a failure, nothing of the kind, or who knows.

The one definition of an answer time: how long a request took that got a good answer. None is the
lifetime of a connection that was upgraded (status 101), what a client took to send its request
(408), a connection closed without an answer on purpose (444), and a request that failed: its
server said so (500 and above), its client gave up (499), or there was no answer (0 and below).
A failed request is counted, and is part of the service level; that it failed fast is not.
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
    """What a line is."""

    ANSWER = enum.auto()
    FAILED = enum.auto()
    """A request that got no good answer."""
    ASIDE = enum.auto()
    """Understood, and it tells of no answer: a stream's lifetime, a part of another entry."""
    UNREAD = enum.auto()
    """No sense could be made of it."""


class Heard(msgspec.Struct, frozen=True):
    """What one line says; the time of an answer in seconds."""

    kind: Kind
    latency_s: float = 0.0


Parser = Callable[[bytes], Heard]
"""Errors: none, whatever the line holds."""

FAILED = Heard(Kind.FAILED)
ASIDE = Heard(Kind.ASIDE)
UNREAD = Heard(Kind.UNREAD)


def answer(latency_s: float | None) -> Heard:
    """A good answer, or UNREAD where its time could not be read."""
    return UNREAD if latency_s is None else Heard(Kind.ANSWER, latency_s)


def by_status(status: int | None) -> Heard | None:
    """What the status alone says; None where it is that of an answer, or not known."""
    if status is None or status > _MOST_STATUS:
        return None
    if status in _ASIDE:
        return ASIDE
    if status <= 0 or status == _CLIENT_GAVE_UP or status >= _SERVER_FAILED:
        return FAILED
    return None


def first_of(*parsers: Parser) -> Parser:
    """Whatever the first of them says that understands the line."""

    def parse(line: bytes) -> Heard:
        for one in parsers:
            heard = one(line)
            if heard is not UNREAD:
                return heard
        return UNREAD

    return parse
