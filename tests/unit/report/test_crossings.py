"""Curves of a run that cross: which pairs are compared, and what the report says of them."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from aferir.model.record import Series
from aferir.report.analyse import analyse
from aferir.report.blocks import Subject, Table
from aferir.report.crossings import crossed
from aferir.report.model import Evaluation
from aferir.report.sections.crossings import section
from tests.unit.report.test_curves import latency, plan, record

FLAT, RISING, ABOVE = (5.0, 5.0, 5.0), (1.0, 2.0, 9.0), (6.0, 6.0, 6.0)


def evaluated(curves: Mapping[str, tuple[float, ...]]) -> Evaluation:
    """One repetition of each cell, by its id."""
    made = plan(levels=(1, 2, 4), environments=("native", "container"))
    return analyse(
        made,
        [record(cell, 0, 1.0, latency(*curves.get(cell.id, FLAT))) for cell in made.cells],
    )


def test_levels_are_compared_with_the_first_and_environments_with_the_first() -> None:
    evaluation = evaluated({"native/net/threads=4": RISING, "container/net/threads=1": RISING})
    found = [(one.differs, one.first, one.second, one.family.title) for one in crossed(evaluation)]
    assert sorted(found) == [
        ("environment", "container", "native", "net/threads=1"),
        ("environment", "container", "native", "net/threads=4"),
        ("threads", "2", "1", "net/threads=2"),
        ("threads", "4", "1", "net/threads=4"),
        ("threads", "4", "1", "net/threads=4"),
    ]


def test_the_report_says_between_which_sizes_and_who_is_higher_then() -> None:
    evaluation = evaluated({"native/net/threads=4": RISING, "container/net/threads=4": ABOVE})
    shown = section(Subject(evaluation=evaluation))
    assert shown is not None
    table = next(block for block in shown.blocks if isinstance(block, Table))
    rows = [[getattr(field, "environment", field) for field in row] for row in table.rows]
    assert [
        *("net/threads=4", "native", "latency", "message"),
        *("threads: 4 with 1", "64.0 B and 4.10 kB", "4 is higher"),
    ] in rows
    assert len(rows) == 2


def test_curves_that_do_not_cross_have_no_section() -> None:
    assert section(Subject(evaluation=evaluated({"native/net/threads=2": ABOVE}))) is None


def test_words_for_places_are_not_compared() -> None:
    made = plan(levels=(1, 2))
    by_word = [latency(*v, at=("a", "b", "c")) for v in (FLAT, RISING)]
    records = [record(cell, 0, 1.0, one) for cell, one in zip(made.cells, by_word, strict=True)]
    assert crossed(analyse(made, records)) == ()


def test_curves_over_time_are_not_compared() -> None:
    made = plan(levels=(1, 2))
    over_time = [
        msgspec.structs.replace(latency(*values), along="time_s", along_unit="s")
        for values in (FLAT, RISING)
    ]
    records = [record(cell, 0, 1.0, one) for cell, one in zip(made.cells, over_time, strict=True)]
    assert crossed(analyse(made, records)) == ()


def test_labels_are_compared_with_their_own_alone() -> None:
    made = plan(levels=(1, 2))

    def both(first: tuple[float, ...], second: tuple[float, ...]) -> tuple[Series, Series]:
        return latency(*first, label="there"), latency(*second, label="back")

    records = [
        record(made.cells[0], 0, 1.0, *both(FLAT, RISING)),
        record(made.cells[1], 0, 1.0, *both(RISING, RISING)),
    ]
    (one,) = crossed(analyse(made, records))
    assert one.curve.label == "there"
