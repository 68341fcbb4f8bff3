"""A source of power by the name that a user gives it: `rapl`, `nut:ups@10.0.0.3`, `model:FILE`."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

Kind = Literal["rapl", "hwmon", "ipmi", "nut", "apcupsd", "snmp", "model"]
FORMS = (
    "rapl",
    "hwmon[:CHIP]",
    "ipmi",
    "nut:UPS[@HOST[:PORT]]",
    "apcupsd[:HOST[:PORT]]",
    "snmp:OID[*SCALE]@HOST[:PORT]",
    "model:FILE",
)
PATTERN = r"^(rapl|ipmi|hwmon(:.*)?|nut:.+|apcupsd(:.*)?|snmp:.+@.+|model:.+)$"
"""Of all forms, as far as a regular expression tells them."""
_PORT = re.compile(r"[0-9]{1,5}")


class PowerSource(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for the power, and where."""

    kind: Kind
    what: str = ""
    """hwmon: the chip; nut: the UPS; snmp: the OID; model: the file."""
    host: str = ""
    port: int = 0
    """0: the usual one."""
    scale: float = 1.0
    """snmp: watts in one unit of the value."""

    @classmethod
    def parse(cls, written: str) -> PowerSource:
        """One of FORMS. Errors: ValueError in words."""
        kind, colon, rest = written.partition(":")
        if kind in ("rapl", "ipmi") and not colon:
            return cls(kind="rapl" if kind == "rapl" else "ipmi")
        if kind == "hwmon":
            return cls(kind="hwmon", what=rest)
        if kind == "apcupsd":
            host, port = _address(rest)
            return cls(kind="apcupsd", host=host, port=port)
        if kind == "model" and rest:
            return cls(kind="model", what=rest)
        what, at, where = rest.partition("@")
        host, port = _address(where)
        if kind == "nut" and what:
            return cls(kind="nut", what=what, host=host, port=port)
        if kind == "snmp" and what and at and host:
            oid, _, scale = what.partition("*")
            return cls(kind="snmp", what=oid, host=host, port=port, scale=_scale(scale or "1"))
        raise ValueError(f"is no source of power; there are {', '.join(FORMS)}")

    def __str__(self) -> str:
        """As it is written."""
        what = self.what if self.kind != "snmp" else f"{self.what}*{self.scale:g}"
        where = self.host + (f":{self.port}" if self.port else "")
        joined = f"{what}@{where}" if what and where else what or where
        return f"{self.kind}:{joined}" if joined else self.kind


def _address(written: str) -> tuple[str, int]:
    host, colon, port = written.rpartition(":")
    if not colon:
        return written, 0
    if not host or not _PORT.fullmatch(port) or not 0 < int(port) < 65536:
        raise ValueError(f"has `{written}` where HOST:PORT belongs, e.g. 127.0.0.1:3493")
    return host.strip("[]"), int(port)


def _scale(written: str) -> float:
    try:
        return float(written)
    except ValueError:
        raise ValueError(f"has `{written}` where a scale belongs, e.g. 0.1") from None
