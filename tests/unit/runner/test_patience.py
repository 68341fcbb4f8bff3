"""Durations as a waiting user sees them: with start-up, and limited by patience."""

from __future__ import annotations

from pathlib import Path

import pytest

from aferir.model.record import Sample
from aferir.programs.base import ASIDE, Command
from aferir.runner.repetition import as_waited_for

FIGURES = (Sample("duration_s", 2.0, "s"), Sample(ASIDE, 1.0, "s"), Sample("cpu_s", 0.5, "s"))


def values(command: Command, *, elapsed_s: float = 5.0) -> dict[str, float]:
    return {one.metric: one.value for one in as_waited_for(FIGURES, command, elapsed_s)}


@pytest.mark.parametrize(("patience_s", "blocked"), [(1.9, 100.0), (2.0, 0.0), (3.0, 0.0)])
def test_a_run_that_takes_longer_than_the_patience_is_blocked(
    patience_s: float, blocked: float
) -> None:
    found = values(Command(Path("/bin/true"), (), patience_s=patience_s))
    assert found["blocked_percent"] == blocked
    assert found["duration_s"] == 2.0


def test_the_way_in_counts_where_the_user_waits_for_it() -> None:
    command = Command(Path("/bin/true"), (), counts_start=True, patience_s=3.0)
    assert values(command)["blocked_percent"] == 100.0
    assert values(command, elapsed_s=4.0)["blocked_percent"] == 0.0


def test_without_patience_nothing_is_added() -> None:
    assert as_waited_for(FIGURES, Command(Path("/bin/true"), ()), 5.0) == FIGURES
