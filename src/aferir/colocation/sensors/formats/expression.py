"""Parses lines by a regular expression that the user supplies."""

from __future__ import annotations

import re
from collections.abc import Sequence

from aferir.colocation.sensors import durations
from aferir.colocation.sensors.heard import ASIDE, UNREAD, Heard, Parser, answer, by_status
from aferir.errors import UsageError

_FOLLOWS = re.compile(
    rf"(?:\s?(?i:{'|'.join(durations.APART)})|{'|'.join(durations.ATTACHED)})(?![\w=:])".encode()
)
"""Matches a unit that follows a number."""
_GOES_ON = re.compile(rb"(?:,\s?|\s:\s)(?:\d+\.\d|-(?!\d))")
"""Matches what follows the first number of a list of times, one per server tried."""
_MORE = re.compile(rb"\.?\d|(?:,\d{3})+(?:\.\d+)?(?!\w|,\S)|[,']\d+" + _FOLLOWS.pattern)
"""Matches the rest of a number of which the expression found only the beginning: `.7` after `12`.
"""
_LESS = re.compile(rb"\d([.,']?)\Z")
"""Matches the beginning of a number of which the expression found only the end: `12.` before `7`.
"""
_NAMED = re.compile(rb"([A-Za-z_][\w.-]{0,60})\"?\s?[=:]\s?\"?\Z")
"""Name of a field right before its value, as in logfmt and JSON."""
_NUMBER = re.compile(rb"[\d.eE+-]+")


def except_lines(parse: Parser, expressions: Sequence[str]) -> Parser:
    """A parser that ignores lines which match one of the expressions: they are no responses.

    An example is a request that waits for an event (long polling), or a stream. Errors: UsageError
    if an expression is invalid.
    """
    compiled = [_compiled(expression) for expression in expressions]

    def but(line: bytes) -> Heard:
        return ASIDE if any(one.search(line) for one in compiled) else parse(line)

    return but if compiled else parse


def parser(expression: str, unit: str | None = None) -> Parser:
    r"""Make a parser: the latency is in group `latency`, or else the first, the status in `status`.

    A unit that follows the number in the text, or with which the field's name ends (`took_ms=12`),
    is used unless the user names one. If the expression ends with a number that is the first of a
    list of times, the line is not understood: `([\d., ]+)` reads all, `([\d.]+),` the first. A line
    is not understood either if the expression finds only a part of a number, as `12` of `12.7`.
    Errors: UsageError if the expression is invalid, has no group, or the unit is unknown.
    """
    if unit is not None and unit not in durations.UNITS:
        raise UsageError(
            f"{unit!r} is no unit of time", remedy=f"one of {', '.join(durations.UNITS)}"
        )
    compiled = _compiled(expression)
    if compiled.groups == 0:
        raise UsageError(
            f"{expression!r} has no group", remedy=r"put the latency in one: took=(\d+)"
        )
    group: str | int = "latency" if "latency" in compiled.groupindex else 1
    scale = durations.UNITS[unit or "s"]
    has_status = "status" in compiled.groupindex

    def parse(line: bytes) -> Heard:
        found = compiled.search(line)
        if found is None or found.group(group) is None:
            return UNREAD
        if has_status and (found["status"] or b"").isdigit() and len(found["status"]) < 5:
            heard = by_status(int(found["status"]))
            if heard is not None:
                return heard
        text = found.group(group)
        if found.end() == found.end(group) and _GOES_ON.match(line, found.end()):
            return UNREAD
        if _is_part(line, found, group):
            return UNREAD
        if unit is None and _NUMBER.fullmatch(text):
            text += _unit_around(line, found.start(group), found.end(group))
        return answer(durations.total(text.decode("utf-8", "replace"), scale))

    return parse


def _compiled(expression: str) -> re.Pattern[bytes]:
    try:
        return re.compile(expression.encode())
    except (re.error, OverflowError, RecursionError) as error:
        raise UsageError(
            f"{expression!r} is no regular expression: {error}", remedy="see Python's re"
        ) from None


def _is_part(line: bytes, found: re.Match[bytes], group: str | int) -> bool:
    """Whether the number that was found is a part of a longer one in the line.

    A comma may separate columns: it is taken for a part of the number only if three digits follow,
    or if a unit follows the number.
    """
    start, end = found.span(group)
    begins, ends = found.start() == start, found.end() == end
    if begins and line[start : start + 1].isdigit():
        before = _LESS.search(line, max(0, start - 2), start)
        if before and (before[1] in (b"", b".") or _FOLLOWS.match(line, end)):
            return True
    return ends and line[end - 1 : end].isdigit() and _MORE.match(line, end) is not None


def _unit_around(line: bytes, start: int, end: int) -> bytes:
    """Unit after a number in a line, or at the end of its field's name; b"" if there is neither."""
    if follows := _FOLLOWS.match(line, end):
        return follows[0]
    named = _NAMED.search(line, max(0, start - 64), start)
    unit = durations.unit_of(named[1].decode("ascii")) if named else None
    return (unit or "").encode()
