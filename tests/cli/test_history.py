"""`aferir history` from a user's point of view."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from aferir.linux import process
from aferir.linux.process import Completed
from tests.unit.store.many_runs import make


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("history") / "runs"
    make(folder, 40, shift_at=25)
    return folder


def history(runs: Path, *arguments: str) -> Completed:
    return process.run(
        [sys.executable, "-m", "aferir", "history", *arguments],
        directory=runs.parent,
        timeout_s=120,
        check=False,
    )


def test_the_change_is_told_in_words_and_drawn(runs: Path) -> None:
    done = history(runs, "--only", "kind-1", "--chart", "all.svg")
    assert done.exit_code == 0
    assert "commit aaaaaaaaaa became bbbbbbbbbb" in done.stdout
    assert "native" not in done.stdout
    assert "<svg" in (runs.parent / "all.svg").read_text(encoding="utf-8")


def test_programs_read_the_same_in_json(runs: Path) -> None:
    told = json.loads(history(runs, "--ratio", "--json").stdout)
    (series,) = told["series"]
    (found,) = series["changes"]
    assert found["altered"][0]["before"] == "a" * 40
    assert found["change"]["p_value"] <= 0.001
    assert len(series["runs"]) == 40


def test_runs_of_a_commit_are_put_together(runs: Path) -> None:
    assert "25 runs" in history(runs, "--by", "commit").stdout


def test_a_figure_that_no_run_has_is_said(runs: Path) -> None:
    done = history(runs, "--metric", "speed")
    assert (done.exit_code, "has the figure speed" in done.stdout) == (0, True)


def test_a_chart_with_another_ending_is_refused_before_anything_is_read(runs: Path) -> None:
    done = history(runs, "--chart", "all.png")
    assert (done.exit_code, "ends in .svg or .html" in done.stderr) == (2, True)
