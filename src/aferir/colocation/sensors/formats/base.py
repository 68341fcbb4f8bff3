"""Declaration of a log format."""

from __future__ import annotations

import msgspec

from aferir.colocation.sensors.heard import Parser


class Format(msgspec.Struct, frozen=True, kw_only=True):
    """One format of a service's log."""

    name: str
    """The format's name in `nginx:PATH#NAME` and in `NAME:PATH`."""
    reads: str
    """Description for people: which time of which log the format reads."""
    parse: Parser
