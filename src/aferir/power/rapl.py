"""RAPL: energy counters of the processor packages (Documentation/power/powercap/powercap.rst)."""

from __future__ import annotations

import math
from pathlib import Path

from aferir.errors import MissingError
from aferir.power.asked import Meter, nothing
from aferir.power.base import Description, PowerError, Reading
from aferir.power.files import text
from aferir.power.unknown import is_unknown

ZONES = Path("/sys/class/powercap")
_MICRO = 1e-6
_MOST_W = 2000.0
"""Largest power of one package in watts; some firmware has limits of millions of watts."""


class Rapl:
    """All packages together; DRAM is included only if it is part of the package."""

    def __init__(self, zones: Path = ZONES) -> None:
        self._zones = zones

    def describe(self) -> Description:
        """Description of the counters, which are updated every millisecond."""
        packages = self._packages()
        most = sum(_most_watts(package) for package in packages)
        return Description(
            name="rapl",
            scope=f"{len(packages)} processor package{'s' if len(packages) > 1 else ''}",
            period_s=1e-3,
            most_w=most,
        )

    def read(self) -> Reading:
        """Sum of the packages' counters."""
        packages = self._packages()
        return Reading(
            energy_j=sum(_number(p / "energy_uj") for p in packages) * _MICRO,
            wraps_j=min(_number(p / "max_energy_range_uj") for p in packages) * _MICRO,
        )

    def _packages(self) -> list[Path]:
        """Zones of packages such as `intel-rapl:0`, without subzones such as `intel-rapl:0:1`."""
        found = sorted(p for p in self._zones.glob("*-rapl:*") if p.name.count(":") == 1)
        found = [p for p in found if text(p / "name").startswith("package")]
        if not found:
            raise MissingError(
                "this machine shows no RAPL counters",
                remedy="virtual machines hide them; choose another source of power",
            )
        return found


def _most_watts(package: Path) -> float:
    """Twice the largest power limit that the firmware or the manufacturer sets.

    Turbo runs at the short-term limit for seconds, and briefly above it; the manufacturer's maximum
    may be that of the long-term limit only. A package without limits is only bounded by `_MOST_W`.
    """
    limits = [
        float(said)
        for kind in ("power_limit", "max_power")
        for path in package.glob(f"constraint_*_{kind}_uw")
        if (said := text(path)).isdecimal() and not is_unknown(float(said))
    ]
    return min(2 * max(limits, default=math.inf) * _MICRO or _MOST_W, _MOST_W)


def _number(path: Path) -> float:
    said = text(path)
    if not said.isdecimal():
        raise PowerError(
            f"{path} cannot be read", remedy="RAPL counters are for root alone; use sudo"
        )
    return float(said)


METER = Meter(
    name="rapl", form="rapl", pattern="", parse=nothing, make=lambda _place, _password: Rapl()
)
