"""What a format of a log is."""

from __future__ import annotations

import msgspec

from aferir.colocation.sensors.heard import Parser


class Format(msgspec.Struct, frozen=True, kw_only=True):
    """One way in which a service writes its log."""

    name: str
    """As it is written in `nginx:PATH#NAME` and in `NAME:PATH`."""
    reads: str
    """Which time of which log, for people."""
    parse: Parser
