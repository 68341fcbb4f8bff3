"""A metered outlet or PDU by SNMP version 2c: one number with the maker's identifier."""

from __future__ import annotations

import re

from aferir.linux import process
from aferir.power.asked import Meter, Place, printed, what_there
from aferir.power.base import Description, Fetch, PowerError, Reading
from aferir.power.quantity import power
from aferir.power.unknown import UNKNOWN, is_unknown

PORT = 161
_OID = re.compile(r"\.?\d+(\.\d+){1,127}")
_TIMEOUT_S = 10.0


class Snmp:
    """Watts as the number at `oid` times `scale`. Needs snmpget (Debian: snmp)."""

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
        """Description of the outlet; its resolution is one step of the number in watts."""
        return Description(
            name=self._name, scope="outlet", resolution_w=abs(self._scale), least_w=1.0
        )

    def read(self) -> Reading:
        """Read the number. Errors: PowerError if there is no such object, or it is not a number."""
        text = self._fetch()
        try:
            value, unit_w = power(text)
        except ValueError as error:
            raise PowerError(
                f"the outlet says `{text.strip()[:60]}`, {error}",
                remedy="is that the object of its power? its maker's MIB says, and the scale",
            ) from None
        unknown = value == -1 or is_unknown(value)
        return Reading(
            power_w=value * (self._scale if unit_w == 1.0 else unit_w),
            stale=UNKNOWN if unknown else "",
        )


def command(address: str, oid: str, community: str) -> list[str]:
    """Command line of the query, whose output is the bare number with any MIBs installed.

    `-m ""` loads no MIB, which would add units or names to the number; snmpcmd(1).
    """
    words = ["snmpget", "-v2c", "-c", community, "-t", "2", "-r", "1", "-m", "", "-M", ""]
    return [*words, "-Oqv", "-On", "-OU", address, oid]


def _fetch(address: str, oid: str, community: str) -> str:
    return process.run(command(address, oid, community), timeout_s=_TIMEOUT_S).stdout


def agent(host: str, port: int) -> str:
    """The address in net-snmp's notation, which takes a bare one for IPv4 (snmpcmd(1))."""
    return f"udp6:{printed(host, port)}" if ":" in host else printed(host, port)


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
        agent(place.host, place.port or PORT), place.what, scale=place.scale, community=password
    ),
)
