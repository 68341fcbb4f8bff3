"""Power drawn from a battery (Documentation/ABI/testing/sysfs-class-power)."""

from __future__ import annotations

import math
from pathlib import Path

from aferir.errors import MissingError
from aferir.power.asked import Meter, what
from aferir.power.base import Description, PowerError, Reading
from aferir.power.files import number, text
from aferir.power.unknown import UNKNOWN, is_unknown

SUPPLIES = Path("/sys/class/power_supply")
_MICRO = 1e-6


class Battery:
    """The battery called `name`, or the first one; readings are valid while it discharges."""

    def __init__(self, name: str = "", supplies: Path = SUPPLIES) -> None:
        self._name = name
        self._supplies = supplies

    def describe(self) -> Description:
        """Description of the battery; its firmware updates values every few seconds."""
        folder = self._folder()
        return Description(name=f"battery:{folder.name}", scope="the whole machine", period_s=5.0)

    def read(self) -> Reading:
        """Read its power, or current times voltage if it does not report power."""
        folder = self._folder()
        raw = number(folder / "power_now")
        watts, unknown = raw * _MICRO, math.isfinite(raw) and is_unknown(abs(raw), least=1000)
        if not math.isfinite(watts):
            raw, volts = number(folder / "current_now"), number(folder / "voltage_now")
            watts = raw * _MICRO * volts * _MICRO
            unknown = any(is_unknown(abs(one), least=1000) for one in (raw, volts))
        if not math.isfinite(watts):
            raise PowerError(
                f"the battery {folder.name} tells neither its power nor its current",
                remedy="measure at the outlet: see docs/reference/power.md",
            )
        status = text(folder / "status")
        stale = "" if status == "Discharging" else f"its status is {status or 'not known'}"
        return Reading(power_w=abs(watts), stale=UNKNOWN if unknown else stale)

    def _folder(self) -> Path:
        for path in sorted(self._supplies.glob("*/type")):
            if text(path) == "Battery" and self._name in ("", path.parent.name):
                return path.parent
        wanted = f"called `{self._name}` " if self._name else ""
        raise MissingError(
            f"this machine has no battery {wanted}here",
            remedy=f"ls {self._supplies} lists what it has",
        )


METER = Meter(
    name="battery",
    form="battery[:NAME]",
    pattern="(:.*)?",
    parse=what,
    make=lambda place, _password: Battery(place.what),
)
