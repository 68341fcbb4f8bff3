"""Latencies in the lines of a service's log; each parser takes a line and gives seconds or None.

Time stamps in a log are never looked at: when a line came is when it was read, so that a step of
the service's clock changes nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import msgspec

from aferir.errors import UsageError

Parser = Callable[[bytes], float | None]
"""Seconds, or None where the line tells no latency. Errors: none, whatever the line holds."""

UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_NUMBERS = (float, int, str)
_MOST_S = 1e7
"""A longer latency, of four months, is a mistake in the log."""

# TimeValue.toString() of Elasticsearch and OpenSearch.
_TIME_VALUE = {
    b"nanos": 1e-9,
    b"micros": 1e-6,
    b"ms": 1e-3,
    b"s": 1.0,
    b"m": 60.0,
    b"h": 3600.0,
    b"d": 86400.0,
}
# It begins with a word as it is, which is found faster than alternatives.
_TOOK = re.compile(
    rb"took(?:(?<=\btook)\[|(?:(?<=\"took)|(?<=\"elasticsearch\.slowlog\.took))\"\s*:\s*\")"
    rb"(\d{1,15}(?:\.\d{1,9})?)(nanos|micros|ms|s|m|h|d)[\]\"]"
)
_FETCH = re.compile(rb"(?:slowlog|\bs\.s)\.fetch\b|\"i\.s\.s\.fetch\"")

COMBINED = (
    '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent '
    '"$http_referer" "$http_user_agent" $request_time'
)
"""NGINX's own `combined` format, with the time at its end."""
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_NUMBER = r"\d{1,9}(?:\.\d{1,9})?"
# ngx_http_upstream_module: one time for each server tried, after commas within a group of
# servers and after colons between groups; a dash where none answered.
_TIMES = rf"(?:{_NUMBER}|-)(?: ?[,:] ?(?:{_NUMBER}|-))*"


def slow_log(line: bytes) -> float | None:
    """Query time of a search slow log of Elasticsearch (5 to 8) or OpenSearch, plain or JSON.

    Lines of the fetch phase are the same search once more, and are left out.
    Source: Elasticsearch and OpenSearch references, "Search slow log".
    """
    found = _TOOK.search(line)
    if found is None:
        return None
    before = line[: found.start()]
    if b".fetch" in before and _FETCH.search(before):
        return None
    return _possible(float(found.group(1)) * _TIME_VALUE[found.group(2)])


def nginx(log_format: str = COMBINED, variable: str = "request_time") -> Parser:
    """Parser of an NGINX access log of this `log_format`, for a time in seconds in it.

    `variable` is `request_time`, or `upstream_response_time` and its like, whose times for all
    servers tried are added up.
    Errors: UsageError where the format does not hold the variable.
    """
    names = [braced or bare for braced, bare in _VARIABLE.findall(log_format)]
    if variable not in names:
        raise UsageError(
            f"the log format has no ${variable}", remedy="add it to log_format in nginx.conf"
        )
    pattern = re.compile(_nginx_pattern(log_format, variable).encode())

    def parse(line: bytes) -> float | None:
        found = pattern.match(line)
        if found is None:
            return None
        times = [float(time) for time in re.findall(_NUMBER.encode(), found.group("wanted"))]
        return _possible(math.fsum(times)) if times else None

    return parse


def _nginx_pattern(log_format: str, variable: str) -> str:
    """Literal text as it is, variables up to the character that follows them in the format."""
    made, end, named = "", 0, False
    for found in _VARIABLE.finditer(log_format):
        made += re.escape(log_format[end : found.start()])
        end = found.end()
        name = found.group(1) or found.group(2)
        if name == variable and not named:
            made += f"(?P<wanted>{_TIMES})"
            named = True
        elif name.startswith("upstream_") and name.endswith("_time"):
            made += f"(?:{_TIMES})"
        else:
            stop = log_format[end : end + 1]
            made += f"[^{re.escape(stop)}]*" if stop and stop != "$" else ".*"
    return made + re.escape(log_format[end:])


def json_lines(field: str, unit: str = "s") -> Parser:
    """Parser of a log with a JSON object a line; `field` may be a path: `response.took`.

    A key that itself holds dots is found as well. Errors: UsageError for an unknown unit.
    """
    scale = _scale(unit)
    keys = field.split(".")
    decode = msgspec.json.Decoder().decode

    def parse(line: bytes) -> float | None:
        try:
            found: Any = decode(line)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return None
        if isinstance(found, dict) and field in found:
            found = found[field]
        else:
            for key in keys:
                found = found.get(key) if isinstance(found, dict) else None
        return _number(found, scale)

    return parse


def pattern(expression: str, unit: str = "s") -> Parser:
    """Parser by a regular expression, found anywhere in a line: the group `latency`, or the first.

    Errors: UsageError where it is none, has no group, or the unit is unknown.
    """
    scale = _scale(unit)
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

    def parse(line: bytes) -> float | None:
        found = compiled.search(line)
        if found is None or found.group(group) is None:
            return None
        return _number(found.group(group).decode("ascii", "replace"), scale)

    return parse


def _scale(unit: str) -> float:
    if unit not in UNITS:
        raise UsageError(f"{unit!r} is no unit of time", remedy=f"one of {', '.join(UNITS)}")
    return UNITS[unit]


def _number(value: object, scale: float) -> float | None:
    if isinstance(value, bool) or not isinstance(value, _NUMBERS):
        return None
    try:
        return _possible(float(value) * scale)
    except (ValueError, OverflowError):
        return None


def _possible(latency_s: float) -> float | None:
    return latency_s if 0 <= latency_s <= _MOST_S else None
