"""What repetitions that warm up say about a cell."""

from __future__ import annotations

from typing import Any

import msgspec

from aferir.model.record import Failure, Record
from aferir.report.analyse import analyse
from aferir.report.model import CountedFailure

LOST = "container/cg/threads=2"


def fail(record: Record, failure: Failure) -> Record:
    return msgspec.structs.replace(record, samples=(), failure=failure)


def failures(plan: Any, records: list[Record]) -> dict[str, tuple[CountedFailure, ...]]:
    return {cell.cell: cell.failures for cell in analyse(plan, records).cells if cell.failures}


def test_warm_up_rounds_do_not_count(made_up: Any) -> None:
    plan, records = made_up.plan(), made_up.records()
    warm = [r for r in records if r.warmup]
    assert warm
    without = analyse(plan, [r for r in records if not r.warmup])
    assert analyse(plan, records) == without


def test_a_cell_that_failed_before_anything_counted_has_the_failures_of_its_warm_up(
    made_up: Any, failure: Failure
) -> None:
    early = [
        fail(record, failure) if record.cell == LOST else record
        for record in made_up.records()
        if record.cell != LOST or record.warmup
    ]
    tried = sum(record.cell == LOST for record in early)
    assert failures(made_up.plan(), early) == {LOST: (CountedFailure(failure, tried),)}


def test_a_failed_warm_up_does_not_count_beside_repetitions(made_up: Any, failure: Failure) -> None:
    records = [fail(record, failure) if record.warmup else record for record in made_up.records()]
    assert not failures(made_up.plan(), records)
