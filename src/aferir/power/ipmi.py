"""The board's management controller: power of the whole server (DCMI 1.5, 6.6.1)."""

from __future__ import annotations

import re

from aferir.linux import process
from aferir.power.asked import Meter, nothing
from aferir.power.base import Description, Fetch, PowerError, Reading
from aferir.power.unknown import UNKNOWN, is_unknown

_COMMAND = ("ipmitool", "dcmi", "power", "reading")
_NOW = re.compile(r"^\s*Instantaneous power reading:\s+(-?\d+) Watts", re.MULTILINE)
_STATE = re.compile(r"^\s*Power reading state is:\s+(\w+)", re.MULTILINE)
_TIMEOUT_S = 10.0
_NOT_ACTIVATED = "that its reading is live, which it calls not activated"
"""Assumption about controllers with OpenBMC, which report each live reading as not activated."""


class Ipmi:
    """DCMI's power reading, in whole watts. Needs ipmitool, /dev/ipmi0 and root."""

    def __init__(self, fetch: Fetch | None = None) -> None:
        self._fetch = fetch or _fetch

    def describe(self) -> Description:
        """Description of the controller; its sampling period refers to its mean value only."""
        state = _STATE.search(self._fetch())
        return Description(
            name="ipmi",
            scope="server",
            resolution_w=1.0,
            least_w=1.0,
            assumption="" if state and state[1] == "activated" else _NOT_ACTIVATED,
        )

    def read(self) -> Reading:
        """The instantaneous reading. Errors: PowerError, MissingError without ipmitool."""
        text = self._fetch()
        watts, state = _NOW.search(text), _STATE.search(text)
        if watts is None:
            raise PowerError(
                "the management controller gives no power reading",
                remedy="not every one has DCMI; try `ipmitool sdr type Current`",
            )
        active = state is not None and state[1] == "activated"
        frozen = not active and float(watts[1]) == 0
        unknown = is_unknown(float(watts[1]))
        stale = UNKNOWN if unknown else "its power reading is not activated" if frozen else ""
        return Reading(power_w=float(watts[1]), stale=stale)


def _fetch() -> str:
    return process.run(_COMMAND, timeout_s=_TIMEOUT_S).stdout


METER = Meter(
    name="ipmi", form="ipmi", pattern="", parse=nothing, make=lambda _place, _password: Ipmi()
)
