"""Parses JSON lines: the response time from the path of its field, a failure from the status."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from aferir.colocation.sensors import durations, grpc
from aferir.colocation.sensors.heard import (
    ASIDE,
    FAILED,
    UNREAD,
    Heard,
    Kind,
    Parser,
    answer,
    by_status,
)
from aferir.errors import UsageError

_STATUS = (
    "status",
    "status_code",
    "statusCode",
    "StatusCode",
    "response_code",
    "response_status",
    "DownstreamStatus",
    "http_status",
    "http_code",
    "elb_status_code",
    "http.response.status_code",
    "response.status",
    "response.status_code",
    "response.statusCode",
    "res.statusCode",
    "code",
)
_GRPC_CODES = (
    "grpc.code",
    "grpc_code",
    "grpc_status",
    "grpc_status_number",
    "rpc.grpc.status_code",
)
_METHOD_TYPES = ("grpc.method_type",)
_STREAM_TYPES = (
    "content_type",
    "sent_http_content_type",
    "resp_headers.Content-Type",
    "response.headers.content-type",
)
_MAY_BE_ANOTHER = ("code", "status", "status_code", "statusCode", "StatusCode")
"""Names of fields that may hold a program's own code: only values from 100 on are an HTTP status.
In fields of other names, such as Envoy's `response_code`, 0 means that there was no response."""
_ENDS_OF_OTHERS = (".code", ".status")
_STATUSES = range(-1, 1000)
_decode = msgspec.json.Decoder().decode


class _Names(msgspec.Struct, frozen=True, kw_only=True):
    """Paths, in an object, of HTTP statuses, gRPC codes, gRPC method types and content types."""

    statuses: tuple[str, ...]
    codes: tuple[str, ...]
    methods: tuple[str, ...]
    streams: tuple[str, ...]


def parser(field: str, unit: str | None = None) -> Parser:
    """A parser that reads `field`, which may be a path (`response.took`) or a key with dots.

    A bare number is in `unit`; by default in the unit in which the field's name ends (`took_ms`),
    else in seconds. Errors: UsageError if the unit is unknown.
    """
    unit = unit or durations.unit_of(field) or "s"
    if unit not in durations.UNITS:
        raise UsageError(
            f"{unit!r} is no unit of time", remedy=f"one of {', '.join(durations.UNITS)}"
        )
    scale = durations.UNITS[unit]

    def parse(line: bytes) -> Heard:
        document = decoded(line)
        return UNREAD if document is None else said(document, field, scale)

    return parse


def decoded(line: bytes) -> dict[str, Any] | None:
    """The JSON object that makes up the whole line or its end; None without one. Errors: none."""
    try:
        found = _decode(line[max(0, line.find(b"{")) :])
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def said(document: Mapping[str, Any], field: str, scale: float) -> Heard:
    """Classify the object of a line by its status, content type, gRPC code and time."""
    names = _names(tuple(document), field)
    by_code = by_status(_status(document, names.statuses))
    if by_code is not None:
        return by_code
    if any(grpc.by_code(look_up(document, name)) for name in names.codes):
        return FAILED
    if any(grpc.is_stream(look_up(document, name)) for name in names.methods):
        return ASIDE
    if any("text/event-stream" in str(look_up(document, name)) for name in names.streams):
        return ASIDE
    return time_of(look_up(document, field), scale)


def time_of(value: object, scale: float) -> Heard:
    """Time from a number, text with one or several durations, or a list, which is summed."""
    if isinstance(value, bool) or value is None:
        return UNREAD
    if isinstance(value, int | float):
        return answer(durations.possible(value * scale) if abs(value) < 1e18 else None)
    if isinstance(value, str):
        if durations.says_nothing(value):
            return ASIDE
        return answer(durations.total(value, scale))
    if isinstance(value, Sequence) and value:
        heard = [time_of(one, scale) for one in value if not isinstance(one, Sequence | None)]
        heard += [time_of(one, scale) for one in value if isinstance(one, str)]
        if len(heard) == len(value) and all(one.kind is not Kind.UNREAD for one in heard):
            return answer(durations.possible(math.fsum(one.latency_s for one in heard)))
    return UNREAD


def look_up(document: Mapping[str, Any], path: str) -> object:
    """The value at a path, or None; the longest key that matches is preferred."""
    if path in document:
        return document[path]
    if "." not in path:
        return None
    found: object = document
    keys = path.split(".")
    while keys and isinstance(found, Mapping):
        for many in range(len(keys), 0, -1):
            key = ".".join(keys[:many])
            if key in found:
                found, keys = found[key], keys[many:]
                break
        else:
            return None
    return None if keys else found


def _status(document: Mapping[str, Any], names: Iterable[str]) -> int | None:
    for name in names:
        value = look_up(document, name)
        if isinstance(value, str) and value.lstrip("-").isdecimal() and len(value) < 5:
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and value in _STATUSES:
            is_own = value < 100 and (name in _MAY_BE_ANOTHER or name.endswith(_ENDS_OF_OTHERS))
            return None if is_own else value
    return None


@functools.lru_cache(maxsize=64)
def _names(keys: tuple[str, ...], field: str) -> _Names:
    """Select the names to look up in an object with these keys.

    The lines of a log have few sets of keys, and most names are in none of them. The HTTP status is
    looked for beside the time (`httpRequest.latency`), and in the document itself.
    """
    beside = field.rpartition(".")[0]
    statuses = (*(f"{beside}.{name}" for name in _STATUS if beside), *_STATUS)

    def possible(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name for name in names if any(map(keys.__contains__, _beginnings(name))))

    return _Names(
        statuses=possible(statuses),
        codes=possible(_GRPC_CODES),
        methods=possible(_METHOD_TYPES),
        streams=possible(_STREAM_TYPES),
    )


def _beginnings(path: str) -> Iterator[str]:
    """First keys that a path may have in an object, since keys may contain dots."""
    parts = path.split(".")
    return (".".join(parts[:many]) for many in range(1, len(parts) + 1))
