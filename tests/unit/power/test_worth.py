"""Uncertainties that accompany a power: step, accuracy, assumptions, and update period."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from aferir.measuring import energy
from aferir.model.record import Warning
from aferir.model.stamps import Stamp
from aferir.power import calibrate, model
from aferir.power.apcupsd import Apcupsd
from aferir.power.base import Counter, Description, PowerError, Reading, power_between
from aferir.power.ipmi import Ipmi
from aferir.power.meter import Taken
from aferir.power.nut import Nut
from aferir.power.watch import Watched, mean_of, watch

UPS = Description(
    name="ups", scope="server", resolution_w=8.0, accuracy=0.05, assumption="power factor 0.8"
)


class Scripted:
    """A source whose readings, or errors, come in that order."""

    def __init__(self, device: Description, *readings: Reading | PowerError) -> None:
        self.device = device
        self.readings: Iterator[Reading | PowerError] = iter(readings)

    def describe(self) -> Description:
        return self.device

    def read(self) -> Reading:
        reading = next(self.readings)
        if isinstance(reading, PowerError):
            raise reading
        return reading


def looked(source: Scripted, looks: int, every_s: float = 1.0) -> Watched:
    now = [0.0]

    def pause(seconds: float) -> None:
        now[0] += seconds

    [found] = watch(
        {"it": source},
        seconds=every_s * (looks - 1),
        every_s=every_s,
        clock=lambda: now[0],
        pause=pause,
    )
    return found


def test_the_samples_of_a_run_have_the_error_of_the_meter_and_its_assumptions() -> None:
    taken = Taken(began=Stamp(0), seconds=10.0, at_s=(1.0,), power_w=(100.0,), description=UPS)
    assert [(one.metric, one.value) for one in energy.samples(taken)] == [
        ("power_w", 100.0),
        ("power_largest_error_w", 9.0),
        ("energy_j", 1000.0),
    ]
    said = "power: steps of 8 W; accurate to 5 % of it; assumed: power factor 0.8"
    assert energy.warnings(taken) == (Warning("power-is-worth", said),)
    exact = Taken(
        began=Stamp(0), seconds=10.0, power_w=(100.0,), description=Description(name="x", scope="y")
    )
    assert len(energy.samples(exact)) == 2
    assert energy.warnings(exact) == energy.warnings(None) == ()


def test_work_that_is_shorter_than_an_update_of_the_meter_is_told() -> None:
    seldom = Description(name="x", scope="y", period_s=60.0)
    [warning] = energy.warnings(
        Taken(began=Stamp(0), seconds=59.0, power_w=(1.0,), description=seldom)
    )
    assert warning.message == "power: updated every 60 s, more than the work took"
    assert (
        energy.warnings(Taken(began=Stamp(0), seconds=60.0, power_w=(1.0,), description=seldom))
        == ()
    )


@pytest.mark.parametrize(
    ("watts", "refused", "code"),
    [
        ((), {"0 W": 3}, "no-power"),
        ((), {}, "no-power"),
        ((5.0, 5.0), {"0 W": 2, "stale": 1}, "power-refused"),
        ((5.0, 5.0), {"0 W": 2}, ""),
    ],
)
def test_a_power_that_is_missing_or_doubtful_says_why(
    watts: tuple[float, ...], refused: dict[str, int], code: str
) -> None:
    found = energy.warnings(Taken(began=Stamp(0), seconds=1.0, power_w=watts, refused=refused))
    assert [warning.code for warning in found] == ([code] if code else [])
    assert all(why in found[0].message for why in refused if found)


def test_a_model_keeps_what_its_source_is_worth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stat = tmp_path / "stat"
    stat.write_text("cpu 0 0 0 0 0 0 0 0 0 0\n", encoding="ascii")
    used = iter((0.0, 1.0))
    monkeypatch.setattr(calibrate, "busy", lambda *_: contextlib.nullcontext())
    monkeypatch.setattr(calibrate, "busy_share", lambda *_: next(used))
    watched = iter((100.0, 200.0))
    monkeypatch.setattr(
        calibrate,
        "watch",
        lambda *_, **__: [Watched(name="", description=UPS, at_s=(9.0,), power_w=(next(watched),))],
    )
    made = calibrate.measure(Scripted(UPS), levels=2, seconds=10.0, note=lambda _: None, stat=stat)
    assert made.accuracy == 0.05
    told = model.Modelled(made, stat).describe()
    assert told.accuracy == pytest.approx(0.05)
    assert told.assumption == (
        "100.0 W idle, 200.0 W busy, by ups (steps of 8 W; accurate to 5 % of it; "
        "assumed: power factor 0.8)"
    )
    stated = model.Modelled(model.model_of(200, 0.5), stat).describe()
    assert stated.assumption == "100.0 W idle, 200.0 W busy, as a data sheet says"


def test_readings_of_one_measurement_count_once() -> None:
    values = [100.0] * 30 + [110.0] * 30 + [120.0] * 30
    seldom = Description(name="x", scope="y", period_s=30.0)
    found = mean_of(looked(Scripted(seldom, *(Reading(power_w=one) for one in values)), 90))
    assert found is not None
    assert (found.n, found.updates) == (90, 3)
    assert found.mean_w == pytest.approx(110.0)
    assert found.low is not None
    assert found.low < 90.0  # t of two degrees of freedom, and not of 89
    few = mean_of(looked(Scripted(UPS, Reading(power_w=100.0), Reading(power_w=110.0)), 2))
    assert few is not None
    assert (few.mean_w, few.low, few.high) == (105.0, None, None)
    often = mean_of(looked(Scripted(UPS, *(Reading(power_w=one) for one in values)), 90))
    assert often is not None
    assert (often.n, often.updates) == (90, 90)


@pytest.mark.parametrize(
    ("variables", "period_s"),
    [
        ({}, 2.0),
        ({"driver.parameter.pollinterval": "5"}, 5.0),
        ({"driver.parameter.pollinterval": "2", "driver.parameter.pollfreq": "30"}, 30.0),
        ({"driver.parameter.pollfreq": "0"}, 2.0),
        ({"driver.parameter.pollfreq": "auto"}, 2.0),
    ],
    ids=["unknown", "one", "both", "none", "word"],
)
def test_a_ups_is_as_new_as_the_full_updates_of_its_driver(
    variables: dict[str, str], period_s: float
) -> None:
    rows = [f'VAR it {name} "{value}"' for name, value in variables.items()]
    text = "\n".join(['VAR it ups.realpower "9"', *rows, "END LIST VAR it"])
    assert Nut("it", "h", fetch=lambda: text).describe().period_s == period_s


def test_a_controller_is_not_as_old_as_its_mean() -> None:
    text = "Instantaneous power reading: 215 Watts\nSampling period: 01131466 Seconds.\n"
    assert Ipmi(fetch=lambda: text).describe().period_s == 0.0


@pytest.mark.parametrize(
    ("load", "watts"),
    [("LOADAPNT : 34.0 Percent", 408.0), ("LOADAPNT : 9 Percent\nLOADPCT : 34.0 Percent", 408.0)],
    ids=["apparent", "both"],
)
def test_apcupsd_tells_a_load_of_either_kind(load: str, watts: float) -> None:
    text = f"STATUS : ONLINE\n{load}\nNOMAPNT : 1500 VA\n"
    assert Apcupsd("h", fetch=lambda: text).read().power_w == pytest.approx(watts)


def test_an_apcupsd_without_a_load_is_not_asked_for_its_nominal_power() -> None:
    with pytest.raises(PowerError, match="neither") as lacking:
        Apcupsd("h", fetch=lambda: "STATUS : ONLINE\nNOMPOWER : 865 Watts\n").read()
    assert "another source" in lacking.value.remedy


def test_a_counter_that_may_have_wrapped_around_twice_gives_no_power() -> None:
    """An energy counter of 65,533 J is full after 164 s at 400 W."""

    def joules(value: float) -> Reading:
        return Reading(energy_j=value, wraps_j=65_533.0)

    device = Description(name="rapl", scope="package", most_w=400.0)
    assert power_between(Counter(0, joules(0.0)), Counter(163, joules(16300.0)), 400.0) == 100
    assert power_between(Counter(0, joules(0.0)), Counter(164, joules(16400.0)), 400.0) is None
    found = looked(Scripted(device, joules(1.0), joules(60001.0), joules(54468.0)), 3, 600.0)
    assert found.power_w == ()
    assert list(found.refused) == ["its counter may wrap around within 164 s: read it more often"]
    assert sum(found.refused.values()) == 2
