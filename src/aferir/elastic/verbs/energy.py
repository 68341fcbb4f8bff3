"""Energy of the hosts of an elastic service while a step runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aferir.power.meter import Meter, Taken
    from aferir.power.sources import PowerSource
    from aferir.programs.figures import Figures


def meter_of(power: PowerSource | None) -> Meter:
    """A meter of the source `power`, or of none. Errors: PowerError for an invalid model file."""
    from aferir.power.meter import Meter
    from aferir.power.sources import made_of
    from aferir.power.verbs.watch import community

    return Meter(None if power is None else made_of(power, community=community()))


def with_energy(figures: Figures, taken: Taken | None) -> Figures:
    """The figures with the energy of the hosts, or with a warning if it is unknown."""
    import msgspec

    from aferir.measuring import energy
    from aferir.model.record import Sample, Series

    doubts = (*figures.doubts, *energy.warnings(taken, "power of the hosts"))
    if taken is None or taken.mean_w is None or taken.energy_j is None:
        return msgspec.structs.replace(figures, doubts=doubts)
    samples = (
        Sample("hosts_energy_j", taken.energy_j, "J"),
        Sample("hosts_power_w", taken.mean_w, "W"),
    )
    curve = Series(
        metric="hosts_power_w",
        unit="W",
        values=taken.power_w,
        along="time_s",
        along_unit="s",
        at=taken.at_s,
    )
    return msgspec.structs.replace(
        figures,
        samples=(*figures.samples, *samples),
        series=(*figures.series, curve),
        doubts=doubts,
    )
