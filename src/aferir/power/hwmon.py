"""Power sensors of the board and of power supplies (Documentation/hwmon/sysfs-interface.rst)."""

from __future__ import annotations

import math
from pathlib import Path

from aferir.errors import MissingError
from aferir.power.asked import Meter, what
from aferir.power.base import Description, PowerError, Reading
from aferir.power.files import number, text

CHIPS = Path("/sys/class/hwmon")
_MICRO = 1e-6


class Hwmon:
    """The first power input of a chip: of that name, or of the first that has one; microwatts."""

    def __init__(self, chip: str = "", chips: Path = CHIPS) -> None:
        self._chip = chip
        self._chips = chips

    def describe(self) -> Description:
        """`power1_max` bounds it; its averaging interval, where it has one, is its period."""
        path = self._input()
        most = number(path.with_name("power1_max"))
        interval_ms = number(path.with_name("power1_average_interval"))
        accuracy = text(path.with_name("power1_accuracy")).rstrip("%")
        return Description(
            name=f"hwmon:{text(path.parent / 'name')}",
            scope=text(path.with_name("power1_label")) or "what the chip measures",
            period_s=interval_ms * 1e-3 if math.isfinite(interval_ms) and interval_ms else 1.0,
            accuracy=float(accuracy) / 100 if accuracy.isdecimal() else 0.0,
            most_w=most * _MICRO if math.isfinite(most) and most > 0 else math.inf,
        )

    def read(self) -> Reading:
        """The input now, or its average where that is all there is."""
        watts = number(self._input()) * _MICRO
        if not math.isfinite(watts):
            raise PowerError("the power sensor cannot be read", remedy="see `sensors -u`")
        return Reading(power_w=watts)

    def _input(self) -> Path:
        for kind in ("power1_input", "power1_average"):
            for path in sorted(self._chips.glob(f"hwmon*/{kind}")):
                if self._chip in ("", text(path.parent / "name")):
                    return path
        wanted = f"called `{self._chip}` " if self._chip else ""
        raise MissingError(
            f"no chip {wanted}measures power here", remedy="`sensors` lists what there is"
        )


METER = Meter(
    name="hwmon",
    form="hwmon[:CHIP]",
    pattern="(:.*)?",
    parse=what,
    make=lambda place, _password: Hwmon(place.what),
)
