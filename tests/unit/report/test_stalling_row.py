"""The chart of costs shows typical repetitions; a row with stalls also shows their cost."""

from __future__ import annotations

import numpy as np

from aferir.model.record import Sample
from aferir.report.analyse import analyse
from aferir.report.charts.ratios import ratio_chart
from benchmarks.report.made_up import plan_of, record_of

ROUNDS, STALLED = 20, 6


def test_a_row_whose_environment_stalls_has_the_difference_of_means() -> None:
    plan = plan_of(2, 1, ROUNDS)
    rng = np.random.default_rng(1)
    records = [
        record_of(
            cell,
            k,
            (Sample("duration_s", float(rng.lognormal(0, 0.005)) * slow, "s"),),
            failed=False,
        )
        for k in range(ROUNDS)
        for cell in plan.cells
        for slow in (3.0 if cell.environment != "native" and k % 3 == 1 and k < 18 else 1.0,)
    ]
    evaluation = analyse(plan, records)
    (cell,) = [cell for cell in evaluation.cells if not cell.baseline]
    assert cell.verdict is not None
    assert cell.verdict.outcome == "stalls"
    assert f"{STALLED} of {ROUNDS} stalled, mean +" in ratio_chart(evaluation, [cell])
