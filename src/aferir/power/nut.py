"""Network UPS Tools: a UPS through upsd (its network protocol: RFC 9271)."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from aferir.power.asked import Meter, Place, printed, what_there
from aferir.power.base import Description, Fetch, PowerError, Reading
from aferir.power.lines import ask
from aferir.power.ups import Nominal, Told, number, told

PORT = 3493
_WAITING = ("WAIT", "OFF")
_UPS = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class Nut:
    """One UPS of one upsd. Its power includes everything that it feeds, not only the server."""

    def __init__(
        self,
        ups: str,
        host: str,
        port: int = PORT,
        fetch: Fetch | None = None,
        *,
        nominal: Nominal | None = None,
    ) -> None:
        if not _UPS.fullmatch(ups):
            raise PowerError(f"`{ups}` is no name of a UPS", remedy="`upsc -l` lists them")
        self._ups = ups
        self._name = f"nut:{ups}@{printed(host, port)}"
        self._nominal = nominal
        self._fetch = fetch or (lambda: _fetch(ups, host, port))

    def describe(self) -> Description:
        """Description of the UPS, with the resolution of the figure from which power is derived."""
        variables = parse_list(self._fetch())
        found = told(variables, self._nominal)
        return Description(
            name=self._name,
            scope="all that the UPS feeds",
            resolution_w=found.step_w,
            period_s=_period_s(variables),
            most_w=found.most_w,
            least_w=1.0,
            assumption=found.assumption,
        )

    def read(self) -> Reading:
        """Power from the figures that the UPS reports.

        Errors: PowerError that says what is missing.
        """
        variables = parse_list(self._fetch())
        found = told(variables, self._nominal)
        status = variables.get("ups.status", "").split()
        waiting = [word for word in status if word in _WAITING]
        if not waiting and found.missing:
            raise _lacking(found, self._ups)
        return Reading(
            power_w=found.power_w,
            apparent_va=found.apparent_va,
            stale=f"its status is {' '.join(status)}" if waiting else "",
            doubt=found.doubt,
        )


def _period_s(variables: Mapping[str, str]) -> float:
    """Seconds between updates of the power; some drivers ask for the status alone more often.

    Source: usbhid-ups(8), snmp-ups(8), nutdrv_qx(8), `pollfreq`.
    """
    names = ("driver.parameter.pollinterval", "driver.parameter.pollfreq")
    return max(number(variables, name) or 0.0 for name in names) or 2.0


def _lacking(found: Told, ups: str) -> PowerError:
    remedy = f"say what it is made for: nut:{ups}?nominal=WATTS, or nominal=900VA"
    if found.missing.startswith("neither"):
        remedy = "its driver gives no figure of power; choose another source"
    return PowerError(f"the UPS tells {found.missing}", remedy=remedy)


def parse_list(text: str) -> dict[str, str]:
    """Variables of `LIST VAR`. Errors: PowerError if upsd answers ERR, or the list is truncated."""
    variables = {}
    lines = text.splitlines()
    error = next((line for line in lines if line.startswith("ERR ")), "")
    if error:
        raise PowerError(
            f"upsd says {error[4:60]}",
            remedy={
                "DATA-STALE": "its driver has lost the UPS",
                "UNKNOWN-UPS": "see `upsc -l`",
            }.get(error[4:].strip(), ""),
        )
    if not any(line.startswith("END LIST VAR") for line in lines):
        raise PowerError("upsd's list of variables has no end")
    for line in lines:
        try:
            words = shlex.split(line)
        except ValueError:
            continue
        if len(words) == 4 and words[0] == "VAR":
            variables[words[2]] = words[3]
    return variables


def _fetch(ups: str, host: str, port: int) -> str:
    question = f"LIST VAR {ups}\n".encode()

    def complete(received: bytes) -> bool:
        return (b"\nEND LIST VAR" in received or received.startswith(b"ERR")) and received.endswith(
            b"\n"
        )

    answer = ask(host, port, question, complete, what="upsd")
    return answer.decode("utf-8", errors="replace")


def _make(place: Place, _password: str) -> Nut:
    host = place.host or "127.0.0.1"
    return Nut(place.what, host, place.port or PORT, nominal=place.nominal)


METER = Meter(
    name="nut",
    form="nut:UPS[?nominal=WATTS][@HOST[:PORT]]",
    pattern=":.+",
    parse=what_there,
    make=_make,
)
