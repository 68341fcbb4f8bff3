"""Series of runs: conditions that changed near a change point, and runs grouped by commit."""

from __future__ import annotations

import msgspec
import pytest

from aferir.report.charts.history import history_charts
from aferir.report.history import By, history, no_change, shortened
from aferir.store.history import RunFigure, figures
from tests.unit.store.many_runs import COMMITS, make


@pytest.fixture(scope="module")
def shifted(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunFigure, ...]:
    folder = tmp_path_factory.mktemp("runs")
    make(folder, 40, shift_at=25)
    return figures(folder)[0]


def test_the_change_is_told_with_the_commit_that_came_with_it(
    shifted: tuple[RunFigure, ...],
) -> None:
    told = history(shifted, metric="duration_s")
    baseline, other = told.series
    assert baseline.changes == ()
    (found,) = other.changes
    (altered,) = found.altered
    assert (altered.what, altered.before, altered.after) == ("commit", *COMMITS)
    assert found.change.at + altered.distance == 25
    assert "commit aaaaaaaaaa became bbbbbbbbbb" in found.text


def test_where_nothing_known_changed_the_sentence_says_so(shifted: tuple[RunFigure, ...]) -> None:
    same = [replaced(one, commit="c") for one in shifted]
    (found,) = history(same, metric="duration_s").series[1].changes
    assert "are the same on both sides" in found.text


def test_other_work_and_other_hosts_are_other_series(shifted: tuple[RunFigure, ...]) -> None:
    moved = [replaced(one, host="node2") for one in shifted[40:]]
    told = history([*shifted[:40], *moved], metric="duration_s")
    assert len(told.series) == 4
    assert len(history([*shifted[:40], *moved], metric="duration_s", by="host").series) == 2


@pytest.mark.parametrize(("by", "names"), [("commit", ["aaaaaaaaaa", "bbbbbbbbbb"])])
def test_runs_are_put_together(shifted: tuple[RunFigure, ...], by: By, names: list[str]) -> None:
    told = history(shifted, metric="duration_s", by=by)
    assert [bucket.name for bucket in told.series[1].buckets] == names
    assert [bucket.runs for bucket in told.series[1].buckets] == [25, 15]
    assert "25 runs" in history_charts(told)[1]


def test_the_chart_shows_the_change(shifted: tuple[RunFigure, ...]) -> None:
    drawn = history_charts(history(shifted, metric="duration_s"))
    assert "No change point" in drawn[0]
    assert "from made-up-0" in drawn[1]


def replaced(one: RunFigure, **conditions: str) -> RunFigure:
    return msgspec.structs.replace(
        one, conditions=msgspec.structs.replace(one.conditions, **conditions)
    )


@pytest.mark.parametrize(
    ("commit", "shown"),
    [("a" * 40, "a" * 10), ("a" * 40 + "-dirty", "a" * 10 + "-dirty"), ("", "unknown")],
)
def test_commits_are_shortened(commit: str, shown: str) -> None:
    assert shortened("commit", commit) == shown


def test_a_series_without_a_change_says_whether_it_could_have_one() -> None:
    assert [no_change(n).partition(";")[0] for n in (9, 10, 20)] == [
        "Too few runs for a change point: it takes 5 on either side.",
        "No change point",
        "No change point.",
    ]
