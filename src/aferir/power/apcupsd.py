"""apcupsd: a UPS through its network information server (apcupsd manual, NIS network protocol).

Each record is two bytes of length, high one first, and so much text; one of length 0 ends the list.
"""

from __future__ import annotations

import math

from aferir.power.asked import Meter, address
from aferir.power.base import Description, Fetch, PowerError, Reading
from aferir.power.lines import ask

PORT = 3551
_LOST = ("COMMLOST", "SHUTTING DOWN")


class Apcupsd:
    """The UPS of one apcupsd."""

    def __init__(self, host: str, port: int = PORT, fetch: Fetch | None = None) -> None:
        self._name = f"apcupsd:{host}:{port}"
        self._fetch = fetch or (lambda: _fetch(host, port))

    def describe(self) -> Description:
        """Resolution: of the load in percent, of the device's nominal power."""
        status = parse_status(self._fetch())
        nominal = _number(status, "NOMPOWER")
        load = status.get("LOADPCT", "0").split(" ")[0]
        decimals = len(load.partition(".")[2])
        return Description(
            name=self._name,
            scope="all that the UPS feeds",
            resolution_w=10.0**-decimals / 100 * nominal if nominal else 0.0,
            period_s=60.0,
            most_w=nominal or math.inf,
        )

    def read(self) -> Reading:
        """Load times nominal power. Errors: PowerError where it does not say both."""
        status = parse_status(self._fetch())
        load, nominal = _number(status, "LOADPCT"), _number(status, "NOMPOWER")
        lost = [word for word in _LOST if word in status.get("STATUS", "")]
        if not lost and (load is None or nominal is None):
            raise PowerError(
                "apcupsd knows no load or no nominal power of its UPS",
                remedy="`apcaccess status` shows what it knows; NOMPOWER can be set nowhere",
            )
        return Reading(
            power_w=None if load is None or nominal is None else load / 100 * nominal,
            apparent_va=_number(status, "NOMAPNT"),
            stale=f"its status is {status.get('STATUS', '')}" if lost else "",
        )


def parse_status(text: str) -> dict[str, str]:
    """Lines such as `LOADPCT  : 33.0 Percent`. Errors: PowerError where none is one."""
    found = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if colon and key.strip():
            found[key.strip()] = value.strip()
    if "STATUS" not in found:
        raise PowerError("apcupsd gave no status", remedy="is that the port of its NIS?")
    return found


def unframe(received: bytes) -> str | None:
    """The text of all records; None while the end is still to come."""
    place, text = 0, b""
    while place + 2 <= len(received):
        length = int.from_bytes(received[place : place + 2], "big")
        if length == 0:
            return text.decode("utf-8", errors="replace")
        if place + 2 + length > len(received):
            return None
        text += received[place + 2 : place + 2 + length]
        place += 2 + length
    return None


def _number(status: dict[str, str], key: str) -> float | None:
    try:
        value = float(status[key].split(" ")[0])
    except (KeyError, ValueError):
        return None
    return value if math.isfinite(value) else None


def _fetch(host: str, port: int) -> str:
    question = len(b"status").to_bytes(2, "big") + b"status"
    answer = ask(
        host, port, question, lambda received: unframe(received) is not None, what="apcupsd"
    )
    return unframe(answer) or ""


METER = Meter(
    name="apcupsd",
    form="apcupsd[:HOST[:PORT]]",
    pattern="(:.*)?",
    parse=address,
    make=lambda place, _password: Apcupsd(place.host or "127.0.0.1", place.port or PORT),
)
