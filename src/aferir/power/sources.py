"""Sources by the names that a user gives them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from aferir.errors import UsageError
from aferir.power import apcupsd, nut, snmp
from aferir.power.apcupsd import Apcupsd
from aferir.power.base import Source
from aferir.power.hwmon import Hwmon
from aferir.power.ipmi import Ipmi
from aferir.power.model import Modelled, load
from aferir.power.nut import Nut
from aferir.power.rapl import Rapl
from aferir.power.snmp import Snmp

FORMS = (
    "rapl",
    "hwmon[:CHIP]",
    "ipmi",
    "nut:UPS[@HOST[:PORT]]",
    "apcupsd[:HOST[:PORT]]",
    "snmp:OID[*SCALE]@HOST[:PORT]",
    "model:FILE",
)


def source(text: str, *, community: str = "public") -> Source:
    """The source called so, in one of FORMS.

    `community` is SNMP's password: from the environment, never from a name that is printed.
    Errors: UsageError where it is none of them, PowerError where the model's file is none.
    """
    kind, _, rest = text.partition(":")
    if kind == "snmp" and "@" in rest:
        return _snmp(rest, text, community)
    make = _MAKERS.get(kind)
    made = make(rest, text) if make is not None else None
    if made is None:
        raise UsageError(f"`{text}` is no source of power", remedy=f"one of: {', '.join(FORMS)}")
    return made


def _snmp(rest: str, whole: str, community: str) -> Source:
    number, _, where = rest.partition("@")
    oid, _, scale = number.partition("*")
    host, port = _address(where, snmp.PORT, whole)
    return Snmp(f"{host}:{port}", oid, scale=_number(scale or "1", whole), community=community)


def _apcupsd(rest: str, whole: str) -> Source:
    return Apcupsd(*_address(rest or "127.0.0.1", apcupsd.PORT, whole))


def _nut(rest: str, whole: str) -> Source | None:
    ups, _, where = rest.partition("@")
    return Nut(ups, *_address(where or "127.0.0.1", nut.PORT, whole)) if ups else None


_MAKERS: Mapping[str, Callable[[str, str], Source | None]] = {
    "rapl": lambda rest, _: None if rest else Rapl(),
    "hwmon": lambda rest, _: Hwmon(rest),
    "ipmi": lambda rest, _: None if rest else Ipmi(),
    "apcupsd": _apcupsd,
    "nut": _nut,
    "model": lambda rest, _: Modelled(load(Path(rest))) if rest else None,
}


def _address(text: str, port: int, whole: str) -> tuple[str, int]:
    host, colon, digits = text.rpartition(":")
    if not colon:
        return text, port
    if not (host and digits.isdecimal() and 0 < int(digits) < 65536):
        raise UsageError(f"`{whole}`: no HOST:PORT", remedy="e.g. 127.0.0.1:3493")
    return host.strip("[]"), int(digits)


def _number(text: str, whole: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"`{whole}`: `{text}` is no scale", remedy="e.g. 0.1") from None
