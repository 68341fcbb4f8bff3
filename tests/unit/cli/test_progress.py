"""Progress of a run in a file or pipe: one line a minute, and failures at once."""

from __future__ import annotations

import pytest

from aferir.cli.progress import RunProgress
from aferir.model.plan import Cell, WorkloadSpec

CELL = Cell(
    id="native/ep",
    group="ep",
    environment="native",
    workload=WorkloadSpec(name="ep", program="npb", parameters={}, time_limit_s=60.0),
)


def test_without_a_terminal_there_is_a_line_a_minute(capsys: pytest.CaptureFixture[str]) -> None:
    moment = 1000.0
    with RunProgress(lambda: moment) as progress:
        progress.round_started(1, 20, warmup=False)
        progress.preparing("allocating native")
        for index in range(1, 201):  # a repetition a second
            progress.cell_started(CELL, index, 200, 200.0 - index)
            progress.preparing("allocating native")
            moment += 1.0
        progress.note("the disk is nearly full")
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(" ")[0] for line in lines] == [
        "allocating",
        *("[1/200]", "[61/200]", "[121/200]", "[181/200]"),
        "the",
    ]
    assert lines[1] == "[1/200] round 1 of at most 20: native/ep  about 3 min left"


def test_the_time_left_ends_with_the_budget(capsys: pytest.CaptureFixture[str]) -> None:
    moment = 1000.0
    with RunProgress(lambda: moment, budget_s=80.0) as progress:
        for number in (1, 2, 3):
            progress.round_started(number, 100, warmup=False)
            progress.cell_started(CELL, number, 100, 6000.0)
            moment += 60.0
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition("ep  ")[2] for line in lines] == [
        *("about 80 s left", "about 20 s left", "about 0 s left"),
    ]
