"""Caddy's access log, as JSON or console; `duration` may have any `duration_format`."""

from __future__ import annotations

from aferir.colocation.sensors.formats import fields
from aferir.colocation.sensors.formats.base import Format
from aferir.colocation.sensors.heard import ASIDE, FAILED, UNREAD, Heard

_LOGGER = "http.log.access"


def parse(line: bytes) -> Heard:
    """Parse a line of Caddy's log; lines of loggers other than the access log are no responses."""
    head = line.partition(b"{")[0]
    document = fields.decoded(line)
    if document is None:
        return UNREAD
    logger = document.get("logger", head.decode("utf-8", "replace"))
    if _LOGGER not in str(logger):
        return ASIDE
    if document.get("status") == 0:
        return FAILED  # the client gave up; 499 in later versions
    return fields.said(document, "duration", 1.0)


FORMAT = Format(name="caddy", reads="`duration` of its access log", parse=parse)
