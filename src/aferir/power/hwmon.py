"""Power sensors of the board and of power supplies (Documentation/hwmon/sysfs-interface.rst)."""

from __future__ import annotations

import math
from pathlib import Path

from aferir.errors import MissingError
from aferir.power.asked import Meter, what
from aferir.power.base import Description, PowerError, Reading
from aferir.power.files import number, text
from aferir.power.unknown import UNKNOWN, is_unknown

CHIPS = Path("/sys/class/hwmon")
_MICRO = 1e-6


class Hwmon:
    """First power input of the chip called `name`, or of the first chip that has one."""

    def __init__(self, chip: str = "", chips: Path = CHIPS) -> None:
        self._chip = chip
        self._chips = chips

    def describe(self) -> Description:
        """Description of the input, with the chip's limits, accuracy and averaging interval."""
        path = self._input()
        interval_ms = number(path.with_name("power1_average_interval"))
        return Description(
            name=f"hwmon:{text(path.parent / 'name')}",
            scope=text(path.with_name("power1_label")) or "what the chip measures",
            period_s=interval_ms * 1e-3 if math.isfinite(interval_ms) else 0.0,
            accuracy=accuracy(text(path.with_name("power1_accuracy"))),
            most_w=_most_watts(path),
        )

    def read(self) -> Reading:
        """Read the present input power, or its average if the chip reports only that."""
        raw = number(self._input())
        if not math.isfinite(raw):
            raise PowerError("the power sensor cannot be read", remedy="see `sensors -u`")
        unknown = is_unknown(raw, least=1_000_000)
        return Reading(power_w=raw * _MICRO, stale=UNKNOWN if unknown else "")

    def _input(self) -> Path:
        for kind in ("power1_input", "power1_average"):
            for path in sorted(self._chips.glob(f"hwmon*/{kind}")):
                if self._chip in ("", text(path.parent / "name")):
                    return path
        wanted = f"called `{self._chip}` " if self._chip else ""
        raise MissingError(
            f"no chip {wanted}measures power here", remedy="`sensors` lists what there is"
        )


def accuracy(said: str) -> float:
    """Relative error from a chip's accuracy: `95.0%` means within 5 %.

    A value below a half is the error itself. 0 if the text cannot be parsed.
    """
    try:
        share = float(said.strip().rstrip("%").rstrip()) / 100
    except ValueError:
        return 0.0
    if not 0 < share <= 1:
        return 0.0
    return 1 - share if share >= 0.5 else share


def _most_watts(path: Path) -> float:
    """Twice the largest limit, as a limit may be that of an alarm, or a nominal one."""
    limits = [
        limit
        for name in ("max", "crit", "cap_max", "rated_max")
        if (limit := number(path.with_name(f"power1_{name}"))) > 0 and not is_unknown(limit)
    ]
    return 2 * max(limits, default=math.inf) * _MICRO


METER = Meter(
    name="hwmon",
    form="hwmon[:CHIP]",
    pattern="(:.*)?",
    parse=what,
    make=lambda place, _password: Hwmon(place.what),
)
