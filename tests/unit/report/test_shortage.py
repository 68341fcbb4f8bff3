"""A run whose repetitions are too few for any claim says so, however large its differences."""

from __future__ import annotations

import pytest

from aferir.model.record import Sample
from aferir.report.analyse import analyse
from aferir.report.opening import opening
from benchmarks.report.made_up import plan_of, record_of


@pytest.mark.parametrize(
    ("environments", "groups", "repetitions", "said"),
    [
        (2, 1, 3, "3 repetitions are too few to claim a difference between two environments"),
        (2, 1, 4, None),
        (13, 3, 5, "5 repetitions are too few to claim a difference in any of 36 comparisons"),
        (13, 3, 6, None),
    ],
)
def test_too_few_for_so_many_comparisons(
    environments: int, groups: int, repetitions: int, said: str | None
) -> None:
    plan = plan_of(environments, groups, repetitions)
    records = [
        record_of(cell, n, (Sample("duration_s", 100.0**k + n / 1e6, "s"),), failed=False)
        for n in range(repetitions)
        for cell in plan.cells
        for k in [cell.environment != plan.baseline]
    ]
    evaluation = analyse(plan, records)
    assert any(cell.verdict and cell.verdict.outcome == "higher" for cell in evaluation.cells) == (
        said is None
    )
    assert [line[: len(said or "")] for line in opening(evaluation) if "too few" in line] == (
        [said] if said else []
    )
