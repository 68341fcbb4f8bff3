"""Energy of a run, and of each unit of its work."""

from __future__ import annotations

import msgspec

from aferir.measuring import energy
from aferir.model.record import Sample
from aferir.model.stamps import Stamp


class Taken(msgspec.Struct, frozen=True):
    """Result of a meter."""

    mean_w: float | None
    energy_j: float | None
    largest_error_w: float = 0.0
    worth: str = ""
    trouble: str = ""
    at_s: tuple[float, ...] = ()
    power_w: tuple[float, ...] = ()
    began: Stamp = Stamp(5)


def test_power_and_energy_are_of_the_host() -> None:
    found = energy.samples(Taken(50.0, 100.0))
    assert [(one.metric, one.value, one.unit, one.side) for one in found] == [
        ("power_w", 50.0, "W", "host"),
        ("energy_j", 100.0, "J", "host"),
    ]
    assert energy.samples(Taken(None, None)) == energy.samples(None) == ()


def test_each_power_reading_has_its_time() -> None:
    (found,) = energy.curve(Taken(50.0, 100.0, at_s=(0.5, 1.0), power_w=(40.0, 60.0)))
    assert (found.metric, found.values) == ("power_w", (40.0, 60.0))
    assert [found.moment(place) for place in found.at] == [
        Stamp(500_000_005),
        Stamp(1_000_000_005),
    ]
    assert energy.curve(Taken(None, None)) == energy.curve(None) == ()


def test_a_unit_of_work_takes_power_over_rate() -> None:
    figures = (Sample("duration_s", 2.0, "s"), Sample("throughput_bps", 25.0, "B/s"))
    observed = energy.samples(Taken(50.0, 100.0))
    (found,) = energy.per_unit(figures, observed)
    assert (found.metric, found.value, found.unit) == ("energy_per_unit_j", 2.0, "J/B")
    assert energy.per_unit(figures[:1], observed) == energy.per_unit(figures, ()) == ()
