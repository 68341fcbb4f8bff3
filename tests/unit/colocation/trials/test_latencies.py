"""Figures as Faban reports them, for a load of users instead of a rate."""

from __future__ import annotations

import pytest

from aferir.colocation.program import COLOCATION
from aferir.colocation.settings import Sla
from aferir.colocation.trials.arm import Batch
from aferir.colocation.trials.latencies import as_faban
from aferir.colocation.trials.load import Crowd, Times, _options
from aferir.colocation.trials.study import Cell
from tests.unit.programs.taking import wrong_with


def test_the_figures_are_those_of_the_requests_between_ramp_up_and_ramp_down() -> None:
    found = as_faban({"default": [k / 1000 for k in range(200, 0, -1)], "idle": [0.5]}, 4.0)
    figures = {series.metric: dict(zip(series.at, series.values, strict=True)) for series in found}
    assert {metric: values["default"] for metric, values in figures.items()} == pytest.approx(
        {
            "latency_mean_s": 0.1005,
            "latency_least_s": 0.001,
            "latency_most_s": 0.2,
            "latency_p90_s": 0.18,
            "latency_p99_s": 0.198,
            "requests_per_s": 50.0,
        }
    )
    assert {values["idle"] for metric, values in figures.items() if metric != "requests_per_s"} == {
        0.5
    }


def test_an_arm_without_a_request_has_no_place() -> None:
    assert as_faban({"default": []}, 4.0) == ()
    assert as_faban({"default": [], "idle": [1.0]}, 4.0)[0].at == ("idle",)


def test_a_load_is_a_share_of_the_users() -> None:
    cell = Cell(load=0.25, users=50, think_s=0.5, batch=Batch("xz", 1, "true"), sla=Sla(0.95, 0.1))
    assert cell.asked(50) == Crowd(12, 0.5)
    assert cell.asked(1) == Crowd(1, 0.5)


def test_the_load_generator_is_told_of_users_or_of_a_rate() -> None:
    times = Times(60.0, 300.0, 60.0)
    users = _options(Crowd(12, 0.5), times, 7)
    assert users[:4] == ["--users", "12", "--think", "0.5"]
    assert "--rate" not in users
    assert users[-5:] == ["60", "--ramp-down", "60", "--duration", "420"]
    assert _options("0:10,5:20", times, 7)[:2] == ["--rate", "0:10,5:20"]


@pytest.mark.parametrize(
    ("key", "value"), [("rate", 100.0), ("step_to", 0.75), ("load_of", "cpus")]
)
def test_a_closed_loop_has_no_rate(key: str, value: float | str) -> None:
    assert wrong_with(COLOCATION, {"users": 50}) == []
    assert any(key in said for said in wrong_with(COLOCATION, {"users": 50, key: value}))
