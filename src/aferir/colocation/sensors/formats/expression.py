"""Parses lines by a regular expression that the user supplies."""

from __future__ import annotations

import re

from aferir.colocation.sensors import durations
from aferir.colocation.sensors.heard import UNREAD, Heard, Parser, answer, by_status
from aferir.errors import UsageError

_FOLLOWS = re.compile(rb"(?:\s?(?:ns|us|\xc2\xb5s|\xce\xbcs|ms|sec)|s|m|min|h)(?![\w=:])")
_GOES_ON = re.compile(rb"(?:,\s?|\s:\s)(?:\d+\.\d|-(?!\d))")
"""Continuation of a list of times, one per server tried, of which the number is the first."""
_NUMBER = re.compile(rb"[\d.eE+-]+")


def parser(expression: str, unit: str | None = None) -> Parser:
    r"""A parser that searches a line for the group `latency`, or the first, and for `status`.

    A unit that follows the number in the text is used unless the user names one. If the expression
    ends with a number that is the first of a list of times, the line is not understood: `([\d.,
    ]+)` reads all of them, `([\d.]+),` the first. Errors: UsageError if the expression is invalid,
    has no group, or the unit is unknown.
    """
    if unit is not None and unit not in durations.UNITS:
        raise UsageError(
            f"{unit!r} is no unit of time", remedy=f"one of {', '.join(durations.UNITS)}"
        )
    try:
        compiled = re.compile(expression.encode())
    except (re.error, OverflowError, RecursionError) as error:
        raise UsageError(
            f"{expression!r} is no regular expression: {error}", remedy="see Python's re"
        ) from None
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
        if unit is None and _NUMBER.fullmatch(text):
            follows = _FOLLOWS.match(line, found.end(group))
            text += follows[0] if follows else b""
        return answer(durations.total(text.decode("utf-8", "replace"), scale))

    return parse
