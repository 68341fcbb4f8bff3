"""Parses durations in common notations: `12.3µs`, `1m2.5s`, `PT0.012S`, `00:00:01.5`, `0.001, 2.9`.

A unit in the text takes precedence; a bare number is in the unit that the caller names. Ambiguous
text (`1,234`) is rejected. Sources: Go's time.Duration.String, TimeValue.toString of Elasticsearch,
ISO 8601-1 5.5.2, ngx_http_upstream_module (one time for each server tried, separated by commas
within a group of servers and by colons between groups; a dash if none answered).
"""

from __future__ import annotations

import math
import re

UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
"""Units that a user may name for bare numbers, in seconds."""
LONGEST_S = 1e5
"""Longest plausible duration in seconds, a little more than a day. A longer one is an error, such
as a time of day or another unit."""

_WORDS = {
    1e-9: "ns nanos nsec nsecs nanosecond nanoseconds",
    1e-6: "us µs μs micros usec usecs microsecond microseconds",
    1e-3: "ms millis msec msecs millisecond milliseconds",
    1.0: "s sec secs second seconds",
    60.0: "m min mins minute minutes",
    3600.0: "h hr hrs hour hours",
    86400.0: "d day days",
}
_SECONDS = {word: seconds for seconds, words in _WORDS.items() for word in words.split()}
_NAMES = {seconds: unit for unit, seconds in UNITS.items()}
_BY_LENGTH = sorted(_SECONDS, key=len, reverse=True)
APART = tuple(word for word in _BY_LENGTH if len(word) > 1 and _SECONDS[word] <= 1)
"""Units that a blank may separate from their number: those of two letters or more, up to the
second.
"""
ATTACHED = tuple(word for word in _BY_LENGTH if word not in APART)
"""Units that are recognised only directly behind a number, since alone they may be other words."""
_LONGEST_TEXT = 200
_NUMBER = r"\d{1,18}(?:\.\d{0,18})?(?:[eE][+-]?\d{1,3})?"
_BARE = re.compile(_NUMBER)
_PART = re.compile(rf"({_NUMBER})\s*([a-zA-Zµμ]+)\s*")
_CLOCK = re.compile(r"(?:(\d{1,4})[.:])?(\d{1,2}):(\d{2}):(\d{2}(?:\.\d{1,9})?)")
_ISO = re.compile(
    r"P(?:(\d{1,4})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,12}(?:\.\d{1,9})?)S)?)?"
)
_BETWEEN = re.compile(r"\s*[,;]\s+|\s+:\s+|\s*[,;]\s*")
_KNOWN = {
    "event.duration": "ns",  # Elastic Common Schema
    "Duration": "ns",  # Traefik
    "OriginDuration": "ns",
    "responseTime": "ms",  # pino-http
    "Elapsed": "ms",  # Serilog.AspNetCore
    "Properties.Elapsed": "ms",
    "latencies.request": "ms",  # Kong
    "latencies.proxy": "ms",
    "latencies.kong": "ms",
    "responseLatency": "ms",  # Amazon API Gateway
    "integrationLatency": "ms",
    "http_server_duration": "ms",  # OpenTelemetry before semantic conventions 1.23
    "http_client_duration": "ms",
    "rpc_server_duration": "ms",
    "grpc_io_server_server_latency": "ms",  # OpenCensus
    "apiserver_request_latencies": "us",  # Kubernetes before 1.14
    "envoy_cluster_upstream_rq_time": "ms",
    "envoy_cluster_external_upstream_rq_time": "ms",
    "envoy_cluster_internal_upstream_rq_time": "ms",
    "envoy_http_downstream_rq_time": "ms",
}
_NOTHING = ("", "-")
_WORD_ENDS = re.compile(r"[\W_]+|(?<=[a-z0-9])(?=[A-Z])")
_TELLING = 4
"""Smallest number of letters of a unit that is also recognised in the middle of a name, not only at
its end.
"""


def seconds(text: str, unit_s: float = 1.0) -> float | None:
    """Parse one duration, in s; None if the text is no duration, or above `LONGEST_S`.

    Errors: none.
    """
    text = text.strip()
    if not text or len(text) > _LONGEST_TEXT:
        return None
    if _BARE.fullmatch(text):
        return possible(float(text) * unit_s)
    if (part := _PART.fullmatch(text)) and (each_s := _SECONDS.get(part[2].lower())):
        return possible(float(part[1]) * each_s)
    if clock := _CLOCK.fullmatch(text):
        days, hours, minutes, rest = clock.groups()
        whole = (int(days or 0) * 24 + int(hours)) * 60 + int(minutes)
        return possible(whole * 60 + float(rest))
    if (iso := _ISO.fullmatch(text)) and any(iso.groups()):
        days, hours, minutes, rest = (float(part or 0) for part in iso.groups())
        return possible(((days * 24 + hours) * 60 + minutes) * 60 + rest)
    return _compound(text)


def total(text: str, unit_s: float = 1.0) -> float | None:
    """Sum of one or several durations in seconds; None if any is invalid, or all are dashes.

    Parts of a list without blanks between them must each have a decimal point or a unit, as `1,234`
    may be a number as well as a list.
    """
    if len(text) > _LONGEST_TEXT:
        return None
    if (one := seconds(text, unit_s)) is not None:
        return one
    parts = [part for part in _BETWEEN.split(text.strip()) if part not in _NOTHING]
    found = [seconds(part, unit_s) for part in parts]
    doubtful = re.search(r"\d[,;]\d", text) and any(part.isdecimal() for part in parts)
    if not parts or doubtful:
        return None
    known = [one for one in found if one is not None]
    return possible(math.fsum(known)) if len(known) == len(found) else None


def says_nothing(text: str) -> bool:
    """Whether the text means "no time": empty, or only dashes."""
    return not text.strip(" -,:;")


def unit_of(name: str) -> str | None:
    """The unit in a field's name (`took_ms`, `time (ms)`, `latency_ms_hist`), or of a known field.

    Except for `ms`, units of fewer than four letters are recognised only at the end: `us_east` has
    none. None if the unit is unknown.
    """
    if name in _KNOWN:
        return _KNOWN[name]
    words = [word for part in _WORD_ENDS.split(name) if (word := part.lower())]
    telling = [word for word in words[1:-1] if word == "ms" or len(word) >= _TELLING]
    found = (_NAMES.get(_SECONDS.get(word, 0.0)) for word in [*words[-1:], *reversed(telling)])
    return next((unit for unit in found if unit is not None), None)


def possible(duration_s: float) -> float | None:
    """Return the duration, or None if no request can take that long."""
    return duration_s if 0 <= duration_s <= LONGEST_S else None


def _compound(text: str) -> float | None:
    """Sum of numbers, each with a unit; units come from the largest to the smallest, each once."""
    place, made, last_s = 0, 0.0, math.inf
    while place < len(text):
        part = _PART.match(text, place)
        each_s = _SECONDS.get(part[2].lower()) if part else None
        if part is None or each_s is None or each_s >= last_s:
            return None
        made += float(part[1]) * each_s
        last_s, place = each_s, part.end()
    return possible(made)
