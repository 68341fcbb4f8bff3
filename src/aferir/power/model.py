"""Power of a server computed from its utilisation, if nothing measures it.

At utilisation u it is idle + (peak - idle) * u, or with a calibrated exponent r, after Fan, Weber
and Barroso ("Power Provisioning for a Warehouse-sized Computer", ISCA 2007):
idle + (peak - idle) * (2u - u^r).
"""

from __future__ import annotations

import math
from pathlib import Path

import msgspec

from aferir.power.asked import Meter, Place
from aferir.power.base import Description, PowerError, Reading


class PowerModel(msgspec.Struct, frozen=True, kw_only=True):
    """Power of a server in watts as a function of its utilisation."""

    peak_w: float
    idle_w: float
    bend: float | None = None
    """Exponent r, above 1; None: a straight line."""
    error_w: float = 0.0
    """Standard deviation of the fit's residuals in watts; 0 if the model was not fitted."""
    basis: str = ""
    """Source of the model, with that source's own uncertainties and assumptions; "": unknown."""
    accuracy: float = 0.0
    """Relative accuracy of the source that it was fitted to; 0: unknown."""

    def at(self, utilisation: float) -> float:
        """Watts at a utilisation from 0 to 1."""
        u = min(max(utilisation, 0.0), 1.0)
        shape = u if self.bend is None else 2 * u - u**self.bend
        return self.idle_w + (self.peak_w - self.idle_w) * shape


def load(path: Path) -> PowerModel:
    """A model that `aferir power calibrate` wrote. Errors: PowerError if it is not one."""
    try:
        model = msgspec.json.decode(path.read_bytes(), type=PowerModel)
    except (OSError, ValueError, RecursionError) as error:
        raise PowerError(f"{path} holds no power model: {error}") from None
    if not (0 <= model.idle_w < model.peak_w and (model.bend is None or model.bend > 1)):
        raise PowerError(
            f"{path} holds no power model: {model.idle_w:g} W idle, {model.peak_w:g} W busy",
            remedy="aferir power calibrate SOURCE --output FILE",
        )
    return model


class Modelled:
    """The model as a source, from the whole machine's utilisation since the previous reading."""

    def __init__(self, model: PowerModel, stat: Path = Path("/proc/stat")) -> None:
        self._model = model
        self._stat = stat
        self._before = self._look()

    def describe(self) -> Description:
        """Description of the model, with the accuracy of its fit and of its source."""
        model = self._model
        return Description(
            name="model",
            scope="server",
            accuracy=model.error_w / model.peak_w + model.accuracy,
            most_w=model.peak_w * (1 + 1e-9),
            assumption=f"{model.idle_w:.1f} W idle, {model.peak_w:.1f} W busy"
            + (f", {model.basis}" if model.basis else ""),
        )

    def read(self) -> Reading:
        """Watts at the utilisation since the last reading; stale if no tick has passed."""
        now = self._look()
        share = busy_share(self._before, now)
        if math.isnan(share):
            return Reading(stale="no tick has passed since the last reading")
        self._before = now
        return Reading(power_w=self._model.at(share))

    def _look(self) -> str:
        return self._stat.read_text(encoding="ascii")


def busy_share(before: str, after: str) -> float:
    """Share of CPU time that was used between two snapshots of /proc/stat (proc(5)).

    User time includes guest time. NaN if no tick has passed.
    """
    ticks = [
        [int(field) for field in text.splitlines()[0].split()[1:9]] for text in (before, after)
    ]
    passed = [max(0, last - first) for first, last in zip(*ticks, strict=True)]
    total = sum(passed)
    return 1 - (passed[3] + passed[4]) / total if total else math.nan


def model_of(peak_w: float, idle_fraction: float) -> PowerModel:
    """A model from a data sheet. Errors: PowerError if the values are impossible."""
    if not (math.isfinite(peak_w) and peak_w > 0 and 0 <= idle_fraction < 1):
        raise PowerError(
            f"no server takes {peak_w:g} W busy and {idle_fraction:g} of it idle",
            remedy="peak in watts above 0, idle as a fraction of it from 0 to below 1",
        )
    return PowerModel(peak_w=peak_w, idle_w=peak_w * idle_fraction, basis="as a data sheet says")


def _parse(written: str) -> Place:
    if not written:
        raise ValueError("does not say which file")
    return Place(what=written)


METER = Meter(
    name="model",
    form="model:FILE",
    pattern=":.+",
    parse=_parse,
    make=lambda place, _password: Modelled(load(Path(place.what))),
)
