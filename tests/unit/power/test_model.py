"""The power model, used if no device measures: its calibration, and its bounds."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.power.base import PowerError
from aferir.power.fit import fit
from aferir.power.model import Modelled, PowerModel, busy_share, load, model_of


def test_a_calibration_finds_the_model_again() -> None:
    straight = PowerModel(peak_w=285.467, idle_w=123.375)
    found = fit([(0.0, straight.at(0.0)), (0.99, straight.at(0.99))])
    assert found.peak_w == pytest.approx(285.467)
    assert found.bend is None
    bent = PowerModel(peak_w=300, idle_w=100, bend=1.4)
    again = fit([(u, bent.at(u)) for u in (0, 0.25, 0.5, 0.75, 1)])
    assert again.bend == pytest.approx(1.4, abs=0.01)
    assert again.error_w < 0.01


@pytest.mark.parametrize(
    "points", [[], [(0.5, 100)], [(0.5, 100), (0.6, 110)], [(0, 200), (1, 100)]]
)
def test_a_calibration_that_tells_nothing_is_refused(points: list[tuple[float, float]]) -> None:
    with pytest.raises(PowerError):
        fit(points)


@given(st.floats(-1, 2), st.floats(1, 1e4), st.floats(0, 0.99), st.none() | st.floats(1.01, 3))
def test_the_model_never_gives_less_than_idle_nor_more_than_peak(
    used: float, peak: float, idle: float, bend: float | None
) -> None:
    model = PowerModel(peak_w=peak, idle_w=peak * idle, bend=bend)
    assert peak * idle * (1 - 1e-9) <= model.at(used)
    # With a bend above 2 the published curve overshoots between; it is used as published.
    assert bend is None or model.at(1.0) == pytest.approx(peak)


def stat(*ticks: int) -> str:
    return "cpu  " + " ".join(map(str, ticks)) + "\n"


def test_the_model_as_a_source_looks_at_the_time_since_it_was_asked(tmp_path: Path) -> None:
    file = tmp_path / "stat"
    file.write_text(stat(0, 0, 0, 0, 0, 0, 0, 0), encoding="ascii")
    model = Modelled(model_of(400, 0.5), file)
    assert model.read().stale
    file.write_text(stat(10, 0, 10, 70, 10, 0, 0, 0), encoding="ascii")
    assert model.read().power_w == pytest.approx(200 + 200 * 0.2)
    assert math.isnan(busy_share(stat(*[0] * 8), stat(*[0] * 8)))
    with pytest.raises(PowerError, match="no server"):
        model_of(-1, 0)
    with pytest.raises(PowerError, match="no power model"):
        load(file)
