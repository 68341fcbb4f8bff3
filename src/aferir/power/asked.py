"""Which source of power is asked for, and how each kind of meter is written and made.

A new meter is a file with a `METER` and a line in `aferir.power.sources`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from aferir.power.base import Source

_PORT = re.compile(r"[0-9]{1,5}")


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """What follows a meter's name, as far as the meter has it."""

    what: str = ""
    """Which one of several: a chip, a UPS, an object identifier, a file."""
    host: str = ""
    port: int = 0
    """0: the usual one."""
    scale: float = 1.0
    """Watts in one unit of the value."""


class Meter(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of source of power."""

    name: str
    form: str
    """How it is written, for people: `nut:UPS[@HOST[:PORT]]`."""
    pattern: str
    """What may follow the name, colon and all, as far as a regular expression tells."""
    parse: Callable[[str], Place]
    """Reads what follows the colon, empty where there is none. Errors: ValueError in words."""
    make: Callable[[Place, str], Source]
    """Makes the source; the text is SNMP's password. Errors: PowerError."""


def nothing(written: str) -> Place:
    """Read what follows a meter of which there is one."""
    if written:
        raise ValueError("has something behind its name, where there is only one")
    return Place()


def what(written: str) -> Place:
    """Read which one it is; empty for the first."""
    return Place(what=written)


def address(written: str) -> Place:
    """Read HOST[:PORT]; empty for this host. IPv6 addresses of a port are in brackets."""
    host, colon, port = written.rpartition(":")
    if not colon:
        return Place(host=written)
    if not host or not _PORT.fullmatch(port) or not 0 < int(port) < 65536:
        raise ValueError(f"has `{written}` where HOST:PORT belongs, e.g. 127.0.0.1:3493")
    return Place(host=host.strip("[]"), port=int(port))


def what_there(written: str) -> Place:
    """Read WHAT[*SCALE][@HOST[:PORT]]."""
    name, _, where = written.partition("@")
    name, star, scale = name.partition("*")
    if not name:
        raise ValueError("does not say which one")
    return msgspec.structs.replace(address(where), what=name, scale=_scale(scale) if star else 1.0)


def _scale(written: str) -> float:
    try:
        return float(written)
    except ValueError:
        raise ValueError(f"has `{written}` where a scale belongs, e.g. 0.1") from None
