"""apcupsd: a UPS through its network information server (apcupsd manual, NIS network protocol).

Each record is a length of two bytes, big-endian, and that much text; length 0 ends the list.
"""

from __future__ import annotations

from collections.abc import Mapping

from aferir.power.asked import Meter, address, printed
from aferir.power.base import Description, Fetch, PowerError, Reading
from aferir.power.lines import ask
from aferir.power.ups import Nominal, told

PORT = 3551
_LOST = ("COMMLOST", "SHUTTING DOWN")


class Apcupsd:
    """The UPS that one apcupsd monitors."""

    def __init__(
        self,
        host: str,
        port: int = PORT,
        fetch: Fetch | None = None,
        *,
        nominal: Nominal | None = None,
    ) -> None:
        self._name = f"apcupsd:{printed(host, port)}"
        self._nominal = nominal
        self._fetch = fetch or (lambda: _fetch(host, port))

    def describe(self) -> Description:
        """Description of the UPS; its resolution follows from that of the load in percent."""
        found = told(_variables(parse_status(self._fetch())), self._nominal)
        return Description(
            name=self._name,
            scope="all that the UPS feeds",
            resolution_w=found.step_w,
            period_s=60.0,
            most_w=found.most_w,
            least_w=1.0,
            assumption=found.assumption,
        )

    def read(self) -> Reading:
        """Load times nominal power. Errors: PowerError that says what is missing."""
        status = parse_status(self._fetch())
        found = told(_variables(status), self._nominal)
        lost = [word for word in _LOST if word in status.get("STATUS", "")]
        if not lost and found.missing:
            remedy = "say what its UPS is made for: apcupsd?nominal=WATTS, or nominal=900VA"
            if found.missing.startswith("neither"):
                remedy = "its UPS gives no figure of load; choose another source"
            raise PowerError(f"apcupsd tells {found.missing}", remedy=remedy)
        return Reading(
            power_w=found.power_w,
            apparent_va=found.apparent_va,
            stale=f"its status is {status.get('STATUS', '')}" if lost else "",
            doubt=found.doubt,
        )


_NAMES = {
    "LOADAPNT": "ups.load",  # of volt-amperes, unless there is the one of watts
    "LOADPCT": "ups.load",
    "NOMPOWER": "ups.realpower.nominal",
    "NOMAPNT": "ups.power.nominal",
    "OUTCURNT": "output.current",
    "OUTPUTV": "output.voltage",
}
"""NUT's name of each variable of apcupsd."""


def _variables(status: Mapping[str, str]) -> dict[str, str]:
    """Figures of apcupsd by NUT's names, without units."""
    return {name: status[key].split(" ")[0] for key, name in _NAMES.items() if status.get(key)}


def parse_status(text: str) -> dict[str, str]:
    """Parse lines like `LOADPCT : 33.0 Percent`. Errors: PowerError if there is no status."""
    found = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if colon and key.strip():
            found[key.strip()] = value.strip()
    if "STATUS" not in found:
        raise PowerError("apcupsd gave no status", remedy="is that the port of its NIS?")
    return found


def unframe(received: bytes) -> str | None:
    """Text of all records; None if the end has not been received yet."""
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


def _fetch(host: str, port: int) -> str:
    question = len(b"status").to_bytes(2, "big") + b"status"
    answer = ask(
        host, port, question, lambda received: unframe(received) is not None, what="apcupsd"
    )
    return unframe(answer) or ""


METER = Meter(
    name="apcupsd",
    form="apcupsd[:HOST[:PORT]][?nominal=WATTS]",
    pattern="([:?].*)?",
    parse=address,
    make=lambda place, _password: Apcupsd(
        place.host or "127.0.0.1", place.port or PORT, nominal=place.nominal
    ),
)
