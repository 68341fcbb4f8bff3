"""Removes prefixes of log drivers from log lines: Docker's JSON, CRI, syslog, journald, Compose.

Sources: moby daemon/logger/jsonfilelog, Kubernetes CRI logging (design-proposals-archive,
kubelet-cri-logging), RFC 3164, RFC 5424, rsyslog's RSYSLOG_FileFormat.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

_CRI = re.compile(rb"\S{20,40} (?:stdout|stderr) ([FP])(?::\S{1,20})? ")
_STAMP = rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[^ ]{0,20}"
_BSD = rb"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d{1,9})?"
_TAG = rb"[\w./@\\-]{1,64}(?:\[\d{1,10}\])?: ?"
_SYSLOG = re.compile(
    # RFC 5424, with its structured data; RFC 3164 with or without its host; a file of rsyslog.
    rb"<\d{1,3}>1 \S{1,40} \S{1,255} \S{1,48} \S{1,128} \S{1,32} (?:-|(?:\[(?:[^\]\\]|\\.)*\])+) ?"
    rb"|(?:<\d{1,3}>)?(?:" + _BSD + rb"|" + _STAMP + rb") (?:[\w.:-]{1,255} )?" + _TAG
)
_COMPOSE = re.compile(rb"[\w.@-]{1,128} +\| |\[pod/[^/\]]{1,253}/[^\]]{1,63}\] ")
"""Matches the prefixes of Compose, of services of a Docker swarm, and of `kubectl logs --prefix`.
"""
_STAMPED = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6,9}(?:Z|[+-]\d\d:\d\d) ")
"""Matches the time stamp of `docker logs -t` and `kubectl logs --timestamps`, which is finer than
those of services.
"""
_KEYS = frozenset({"log", "stream", "time", "attrs"})
_MORE_KEYS = frozenset(
    {"kubernetes", "docker", "@timestamp", "tag", "_p", "logtag", "container_id", "container_name"}
)
"""Further names of fields that log collectors add to Docker's JSON."""
_CURSOR = b'"__CURSOR"'
"""Name of a field that every entry of `journalctl -o json` has."""
_BOM = b"\xef\xbb\xbf"


class _Docker(msgspec.Struct, frozen=True):
    log: str
    stream: str


class _Journal(msgspec.Struct, frozen=True):
    MESSAGE: str | list[int]


_decode = msgspec.json.Decoder(_Docker).decode
_decode_journal = msgspec.json.Decoder(_Journal).decode
_decode_any = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def entries(lines: Sequence[bytes], rest: list[bytes]) -> list[bytes]:
    """The service's own lines, with the pieces of long ones joined.

    The pieces of a line whose end has not been written yet stay in `rest` for the next call.
    Errors: none; a line without a prefix is returned unchanged.
    """
    if not _may_be_wrapped(lines):
        return list(lines)
    made = []
    for line in lines:
        inside, whole = unwrapped(line)
        if whole:
            made.append(b"".join((*rest, inside)) if rest else inside)
            rest.clear()
        elif len(rest) < _MOST_PIECES:
            rest.append(inside)
    return made


_MOST_PIECES = 1000


def unwrapped(line: bytes) -> tuple[bytes, bool]:
    """Remove a log driver's prefix; returns also whether a line of the service ends here."""
    first = line[:1]
    if first == b"{":
        return _from_journal(line) if _CURSOR in line else _from_docker(line)
    if (found := _CRI.match(line)) is not None:
        return line[found.end() :], found[1] == b"F"
    found = _SYSLOG.match(line) or _STAMPED.match(line) or _COMPOSE.match(line)
    return (line[found.end() :].removeprefix(_BOM), True) if found else (line, True)


def _may_be_wrapped(lines: Sequence[bytes]) -> bool:
    """Whether the first or the last line has a prefix: all lines of a call come from one writer."""
    return any(unwrapped(line)[0] is not line for line in (*lines[:1], *lines[-1:]))


def _from_journal(line: bytes) -> tuple[bytes, bool]:
    """Message of an entry of `journalctl -o json`; one that is no UTF-8 is a list of its bytes."""
    try:
        message = _decode_journal(line).MESSAGE
        return (message.encode() if isinstance(message, str) else bytes(message)), True
    except (ValueError, RecursionError):
        return line, True


def _from_docker(line: bytes) -> tuple[bytes, bool]:
    if not (line.startswith(b'{"log":') or (b'"log"' in line and b'"stream"' in line)):
        return line, True
    try:
        found = _decode(line)
        if not _decode_any(line).keys() <= _KEYS | _MORE_KEYS or found.stream not in (
            "stdout",
            "stderr",
        ):
            return line, True
    except (ValueError, RecursionError):
        return line, True
    inside = found.log.encode("utf-8", "replace")
    return inside.rstrip(b"\r\n"), inside.endswith(b"\n")
