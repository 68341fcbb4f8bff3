"""Comparison of runs: which cells may be compared, and what a single run each can show."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from aferir.model.provenance import Provenance
from aferir.model.record import Failure
from aferir.report.analyse import analyse
from aferir.report.compare import ONE_RUN_EACH, compare
from aferir.report.likeness import other_conditions
from aferir.report.model import CountedFailure, Evaluation
from aferir.statistics.runs import ratio_of_runs


def evaluated(made_up: Any, **changes: Any) -> Evaluation:
    other = made_up.with_(**changes)
    return analyse(other.plan(), other.records())


def of_other_work(evaluation: Evaluation, **parameters: Any) -> Evaluation:
    return msgspec.structs.replace(
        evaluation,
        cells=tuple(
            msgspec.structs.replace(cell, parameters={**cell.parameters, **parameters})
            for cell in evaluation.cells
        ),
    )


def test_other_work_is_not_compared(made_up: Any) -> None:
    first = evaluated(made_up)
    comparison = compare(first, of_other_work(first, kernel="lu", **{"class": "B"}))
    assert comparison.cells == ()
    assert {cell.environment for cell in comparison.not_compared} == {"native", "container", "vm"}
    assert any(
        "class" in reason and "against B" in reason for reason in comparison.not_compared[0].differs
    )


def test_another_kind_is_not_compared(made_up: Any) -> None:
    first = evaluated(made_up)
    second = msgspec.structs.replace(
        first,
        cells=tuple(
            msgspec.structs.replace(cell, kind="vm") if cell.environment == "container" else cell
            for cell in first.cells
        ),
    )
    comparison = compare(first, second)
    assert {cell.environment for cell in comparison.cells} == {"native", "vm"}
    assert comparison.not_compared[0].differs == ("kind container against vm",)


def test_one_run_each_says_what_it_cannot(made_up: Any) -> None:
    comparison = compare(evaluated(made_up), evaluated(made_up, seed=2))
    assert comparison.notes == (ONE_RUN_EACH,)
    assert all("one-run" in [w.code for w in c.verdict.warnings] for c in comparison.cells)


def test_several_runs_bring_their_own_spread() -> None:
    """Every run is 3 % off its neighbour, all its repetitions alike: one run each finds a claim."""
    rng = np.random.default_rng(1)
    runs = [1.0, 1.03, 0.98, 1.01]
    one, two, three, four = (level * rng.lognormal(0, 0.005, 12) for level in runs)
    each = ratio_of_runs([two], [one])
    assert each.p_value is not None
    assert each.p_value < 1e-4
    both = ratio_of_runs([two, four], [one, three])
    assert (both.n, both.n_baseline) == (2, 2)
    assert both.p_value is not None
    assert both.p_value > 0.05
    assert both.estimate == pytest.approx((1.03 * 1.01 / 0.98) ** 0.5, rel=0.01)


def test_two_runs_against_one_borrow_their_spread() -> None:
    rng = np.random.default_rng(2)
    runs = [level * rng.lognormal(0, 0.005, 12) for level in (1.0, 1.02, 1.01)]
    ratio = ratio_of_runs(runs[:1], runs[1:])
    assert ratio.freedom == 1
    assert [w.code for w in ratio.warnings] == ["one-run"]


def test_runs_that_cover_their_true_ratio() -> None:
    rng = np.random.default_rng(3)
    inside = 0
    for _ in range(400):
        first, second = (
            [np.exp(rng.normal(0, 0.03)) * rng.lognormal(0, 0.01, 8) for _ in range(3)]
            for _ in range(2)
        )
        interval = ratio_of_runs(second, first).interval
        assert interval is not None
        inside += interval.contains(1.0)
    # Nominal 380 of 400; three standard deviations of chance are 13.
    assert 364 <= inside <= 396


def test_other_machines_are_named(made_up: Any) -> None:
    plan = made_up.plan()
    here, there = (
        Provenance(version="1", facts={"machine": {"cpu_model": cpu, "memory_bytes": size}})
        for cpu, size in (("A", 8e9), ("B", 8.001e9))
    )
    assert other_conditions([(plan, here)], [(plan, here)]) == ()
    assert other_conditions([(plan, here)], [(plan, there)]) == (
        "The runs differ in more than time: processor A against B.",
    )
    odd = Provenance(version="1", facts={"machine": {"cpu_model": "A", "memory_bytes": "much"}})
    assert other_conditions([(plan, here)], [(plan, odd)]) == (
        "The runs differ in more than time: memory 8.00 GB against much.",
    )
    smaller = msgspec.structs.replace(
        plan,
        environments=tuple(msgspec.structs.replace(e, cpus=7) for e in plan.environments),
    )
    notes = other_conditions([(plan, here)], [(smaller, here)])
    assert len(notes) == 3
    assert all("against 7" in note for note in notes)


@pytest.mark.parametrize(
    ("count", "said"), [(9, "all 9 repetitions failed"), (1, "its repetition failed")]
)
def test_a_side_of_which_all_repetitions_failed_is_told(
    made_up: Any, count: int, said: str
) -> None:
    first = evaluated(made_up)
    cell = first.cells[0]
    failures = (CountedFailure(Failure("program", "exited with 1"), repetitions=count),)
    failing = msgspec.structs.replace(cell, points=(), failures=failures)
    second = msgspec.structs.replace(first, cells=(failing, *first.cells[1:]))
    comparison = compare(first, second)
    assert comparison.notes == (
        ONE_RUN_EACH,
        f"{cell.cell}: {said} in the second.",
    )
    assert comparison.only_first == (cell.cell,)
