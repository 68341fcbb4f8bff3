"""A metered outlet or PDU by SNMP version 2c: one number under a name of its maker's choice."""

from __future__ import annotations

import re

from aferir.linux import process
from aferir.power.asked import Meter, Place, what_there
from aferir.power.base import Description, Fetch, PowerError, Reading

PORT = 161
_OID = re.compile(r"\.?\d+(\.\d+){1,127}")
_TIMEOUT_S = 10.0


class Snmp:
    """Watts = the number at `oid` times `scale`. Needs snmpget (Debian: snmp)."""

    def __init__(
        self,
        address: str,
        oid: str,
        *,
        scale: float = 1.0,
        community: str = "public",
        fetch: Fetch | None = None,
    ) -> None:
        if not _OID.fullmatch(oid):
            raise PowerError(
                f"`{oid}` is no numeric object identifier", remedy="e.g. 1.3.6.1.4.1.…"
            )
        self._name = f"snmp:{oid}@{address}"
        self._scale = scale
        self._fetch = fetch or (lambda: _fetch(address, oid, community))

    def describe(self) -> Description:
        """What the number's steps are worth in watts."""
        return Description(name=self._name, scope="outlet", resolution_w=abs(self._scale))

    def read(self) -> Reading:
        """Errors: PowerError where there is no such object, or no number."""
        text = self._fetch().strip().strip('"')
        try:
            value = float(text)
        except ValueError:
            raise PowerError(
                f"the outlet says `{text[:60]}`, no number",
                remedy="is that the object of its power? its maker's MIB says",
            ) from None
        unknown = value in (-1.0, 65535.0, 4294967295.0)
        return Reading(
            power_w=value * self._scale, stale="it says that it does not know" if unknown else ""
        )


def _fetch(address: str, oid: str, community: str) -> str:
    words = ["snmpget", "-v2c", "-c", community, "-t", "2", "-r", "1", "-Oqv", address, oid]
    return process.run(words, timeout_s=_TIMEOUT_S).stdout


def _parse(written: str) -> Place:
    place = what_there(written)
    if not place.host:
        raise ValueError("does not say at which host")
    return place


METER = Meter(
    name="snmp",
    form="snmp:OID[*SCALE]@HOST[:PORT]",
    pattern=":.+@.+",
    parse=_parse,
    make=lambda place, password: Snmp(
        f"{place.host}:{place.port or PORT}", place.what, scale=place.scale, community=password
    ),
)
