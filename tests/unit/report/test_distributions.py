"""Charts of every repetition stay small however many repetitions there are."""

from __future__ import annotations

from aferir.model.record import Sample
from aferir.report.analyse import analyse
from aferir.report.charts.distributions import MOST, distribution_charts
from benchmarks.report.made_up import plan_of, record_of


def chart(repetitions: int) -> str:
    """Chart of two environments, whose durations are spread evenly from 1 s to 2 s."""
    plan = plan_of(2, 1, repetitions)
    records = [
        record_of(cell, k, (Sample("duration_s", 1 + k / (repetitions - 1), "s"),), failed=False)
        for k in range(repetitions)
        for cell in plan.cells
    ]
    (svg,) = distribution_charts(analyse(plan, records))
    return svg


def test_a_row_has_a_limited_number_of_marks_and_the_number_of_repetitions() -> None:
    most, more = chart(MOST), chart(MOST + 100)
    assert more.count('class="mark') == most.count('class="mark')
    assert f"n = {MOST + 100}" in more
