"""Traefik's access log, in its common format and in JSON (Traefik, Observe, access logs)."""

from __future__ import annotations

import re

from aferir.colocation.sensors.formats import fields
from aferir.colocation.sensors.formats.base import Format
from aferir.colocation.sensors.formats.template import Template, parser
from aferir.colocation.sensors.heard import ASIDE, FAILED, Heard, first_of

_COMMON = (
    '$client - $user [$time] "$request" $status $size "$referrer" "$agent" $number $router '
    "$server ${duration}ms"
)
_read = first_of(
    parser(Template(text=_COMMON, time="duration", unit_s=1e-3)),
    fields.parser("Duration", "ns"),
)
_NO_STATUS = re.compile(rb'" (?:0|-) (?:\d+|-) "|"DownstreamStatus":0\b')


def parse(line: bytes) -> Heard:
    """Parse a line of Traefik's log; status 0 is a WebSocket or stream that was read to its end.

    Traefik writes 0 also if a middleware answered, and a dash if there was no route.
    """
    heard = _read(line)
    return ASIDE if heard is FAILED and _NO_STATUS.search(line) else heard


FORMAT = Format(
    name="traefik",
    reads="the duration of its common format, or `Duration` (ns) of its JSON",
    parse=parse,
)
