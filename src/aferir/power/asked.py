"""Which source of power is asked for, and how each kind of meter is written and made.

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
    """What follows a meter's name, as far as the meter has it."""

    what: str = ""
    """Which one of several: a chip, a UPS, an object identifier, a file."""
    host: str = ""
    port: int = 0
    """0: the usual one."""
    scale: float = 1.0
    """Watts in one unit of the value."""
    nominal: Nominal | None = None
    """What a UPS is made for, where it does not say so itself."""


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
    """Read HOST[:PORT][?nominal=WATTS]; empty for this host. IPv6: `::1`, `[::1]`, `[::1]:3493`."""
    written, nominal = _nominal(written)
    found = _HOST.fullmatch(written)
    if found is None or (found["port"] and not 0 < int(found["port"]) < 65536):
        raise ValueError(f"has `{written}` where HOST:PORT belongs, e.g. 127.0.0.1:3493")
    host = found["bracketed"] or found["bare"] or found["name"] or ""
    if ":" in host and not _is_ipv6(host):
        raise ValueError(f"has `{written}` where HOST:PORT belongs, e.g. [::1]:3493")
    return Place(host=host, port=int(found["port"] or 0), nominal=nominal)


def printed(host: str, port: int = 0) -> str:
    """HOST:PORT, an IPv6 address in brackets."""
    name = f"[{host}]" if ":" in host else host
    return f"{name}:{port}" if port else name


def what_there(written: str) -> Place:
    """Read WHAT[*SCALE][?nominal=WATTS][@HOST[:PORT]]."""
    written, nominal = _nominal(written)
    name, _, where = written.partition("@")
    name, star, scale = name.partition("*")
    if not name:
        raise ValueError("does not say which one")
    return msgspec.structs.replace(
        address(where), what=name, scale=_scale(scale) if star else 1.0, nominal=nominal
    )


def _nominal(written: str) -> tuple[str, Nominal | None]:
    """What is written without its nominal power, and that."""
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
