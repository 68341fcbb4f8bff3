"""Notation of power sources: how each kind of meter is written, parsed and created.

A new meter is a file with a `METER` and a line in `aferir.power.sources`.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable

import msgspec

from aferir.power.base import Source
from aferir.power.ups import NOMINAL, Nominal

_HOST = re.compile(
    r"(?:\[(?P<bracketed>[^\[\]]*:[^\[\]]*)\]|(?P<bare>[^\[\]@/]*:[^\[\]@/]*:[^\[\]@/]*)"
    r"|(?P<name>[^:\[\]]*))(?::(?P<port>[0-9]{1,5}))?"
)
_NOMINAL = re.compile(r"\?nominal=(\d{1,9}(?:\.\d{1,3})?)(k)?(W|VA)?(?=@|$)")


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Parts of the text after a meter's name; each meter uses some of the fields."""

    what: str = ""
    """Selects one of several: a chip, a UPS, an object identifier, a file."""
    host: str = ""
    port: int = 0
    """Port; 0: the default one."""
    scale: float = 1.0
    """Watts per unit of the value."""
    nominal: Nominal | None = None
    """Nominal power of a UPS that does not report it."""


class Meter(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of power source."""

    name: str
    form: str
    """Notation for people, such as `nut:UPS[@HOST[:PORT]]`."""
    pattern: str
    """Regular expression for what may follow the name, including the colon; it may accept too
    much."""
    parse: Callable[[str], Place]
    """Parses what follows the colon, "" if there is nothing. Errors: ValueError that says what is
    wrong."""
    make: Callable[[Place, str], Source]
    """Creates the source; the text is the community for SNMP. Errors: PowerError."""


def nothing(written: str) -> Place:
    """Check that nothing follows a meter of which there is only one. Errors: ValueError."""
    if written:
        raise ValueError("has something behind its name, where there is only one")
    return Place()


def what(written: str) -> Place:
    """Parse the name of one meter among several of a kind; "" selects the first."""
    return Place(what=written)


def address(written: str) -> Place:
    """Parse HOST[:PORT][?nominal=WATTS]; "" is this host. IPv6: `::1`, `[::1]`, `[::1]:3493`."""
    written, nominal = _nominal(written)
    found = _HOST.fullmatch(written)
    if found is None or (found["port"] and not 0 < int(found["port"]) < 65536):
        raise ValueError(f"has `{written}` where HOST:PORT belongs, e.g. 127.0.0.1:3493")
    host = found["bracketed"] or found["bare"] or found["name"] or ""
    if ":" in host and not _is_ipv6(host):
        raise ValueError(f"has `{written}` where HOST:PORT belongs, e.g. [::1]:3493")
    return Place(host=host, port=int(found["port"] or 0), nominal=nominal)


def printed(host: str, port: int = 0) -> str:
    """Text HOST:PORT, with an IPv6 address in brackets."""
    name = f"[{host}]" if ":" in host else host
    return f"{name}:{port}" if port else name


def what_there(written: str) -> Place:
    """Parse WHAT[*SCALE][?nominal=WATTS][@HOST[:PORT]]."""
    written, nominal = _nominal(written)
    name, _, where = written.partition("@")
    name, star, scale = name.partition("*")
    if not name:
        raise ValueError("does not say which one")
    return msgspec.structs.replace(
        address(where), what=name, scale=_scale(scale) if star else 1.0, nominal=nominal
    )


def _nominal(written: str) -> tuple[str, Nominal | None]:
    """Split a text into the part before its nominal power, and that power."""
    found = _NOMINAL.search(written)
    if found is None:
        return written, None
    value = float(found[1]) * (1000 if found[2] else 1)
    if not NOMINAL[0] <= value <= NOMINAL[1]:
        raise ValueError(f"is made for {value:g} {found[3] or 'W'}, and no UPS is")
    return written[: found.start()] + written[found.end() :], Nominal(value, found[3] == "VA")


def _is_ipv6(host: str) -> bool:
    try:
        ipaddress.IPv6Address(host)
    except ValueError:
        return False
    return True


def _scale(written: str) -> float:
    try:
        return float(written)
    except ValueError:
        raise ValueError(f"has `{written}` where a scale belongs, e.g. 0.1") from None
