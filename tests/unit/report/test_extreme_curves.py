"""Curves whose repetitions have different places: the best and the worst one are drawn."""

from __future__ import annotations

import msgspec
import pytest

from aferir.model.record import Better, Record, Sample, Series
from aferir.report.analyse import analyse
from aferir.report.charts.curves import curve_charts
from aferir.report.model import Evaluation
from tests.unit.report.test_curves import latency, plan, record


def repetition(
    number: int, blocked: float, *, environment: int = 0, better: Better = "lower"
) -> Record:
    """A repetition whose curve has its number as values, at moments of its own."""
    cell = plan(environments=("native", "vm")).cells[environment]
    series = latency(number, number, at=(0.1, 0.2 + number))
    made = record(cell, number, 1.0, series)
    figure = Sample("blocked_percent", blocked, "%", better=better)
    return msgspec.structs.replace(made, samples=(*made.samples, figure))


def evaluated(*records: Record, metric: str = "blocked_percent") -> Evaluation:
    made = msgspec.structs.replace(plan(environments=("native", "vm")), metric=metric)
    return analyse(made, records)


def drawn(evaluation: Evaluation) -> dict[str, list[float]]:
    """Numbers of the repetitions that each picture shows, by what it says that it shows."""
    return {
        family.shown: [curve.points[0].median for curve in family.curves]
        for family in evaluation.curves
    }


def test_the_best_and_the_worst_repetition_by_the_experiments_metric_are_drawn() -> None:
    evaluation = evaluated(*(repetition(k, v) for k, v in enumerate((3.0, 1.0, 1.0, 9.0))))
    assert drawn(evaluation) == {"best": [1.0], "worst": [3.0]}
    best, worst = curve_charts(evaluation)
    assert "best repetition (blocked 1.00 %)" in best
    assert "worst repetition (blocked 9.00 %)" in worst


def test_more_is_better_where_the_program_says_so() -> None:
    records = (repetition(k, v, better="higher") for k, v in enumerate((3.0, 1.0, 9.0)))
    assert drawn(evaluated(*records)) == {"best": [2.0], "worst": [1.0]}


def test_each_environment_has_a_best_repetition_of_its_own() -> None:
    native = [repetition(k, v) for k, v in enumerate((3.0, 1.0))]
    guest = [repetition(k, v, environment=1) for k, v in enumerate((5.0, 7.0, 6.0))]
    evaluation = evaluated(*native, *guest)
    assert drawn(evaluation) == {"best": [1.0, 0.0], "worst": [0.0, 1.0]}
    assert "(blocked 1.00 % and 5.00 %)" in curve_charts(evaluation)[0]


@pytest.mark.parametrize(
    ("blocked", "metric"),
    [
        pytest.param((3.0, 3.0), "blocked_percent", id="all-alike"),
        pytest.param((3.0, 1.0), "", id="no-metric"),
        pytest.param((3.0, 1.0), "duration_s", id="no-direction"),
    ],
)
def test_without_a_better_repetition_the_first_is_drawn(
    blocked: tuple[float, ...], metric: str
) -> None:
    records = (repetition(k, v) for k, v in enumerate(blocked))
    evaluation = evaluated(*records, metric=metric)
    assert drawn(evaluation) == {"first": [0.0]}
    assert "first repetition" in curve_charts(evaluation)[0]


def test_repetitions_with_the_same_places_are_pooled_whatever_is_better() -> None:
    series: Series = latency(1.0, 2.0, 3.0)
    records = [
        msgspec.structs.replace(repetition(k, v), series=(series,)) for k, v in enumerate((3, 1))
    ]
    (family,) = evaluated(*records).curves
    assert family.pooled
    assert family.shown == "first"
