"""`aferir history` from a user's point of view."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from aferir.cli import main
from tests.unit.store.many_runs import make

History = Callable[..., tuple[int, str, str]]
"""Runs the verb; returns its exit code, its output and its errors."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("history") / "runs"
    make(folder, 40, shift_at=25)
    return folder


@pytest.fixture
def history(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> History:
    monkeypatch.chdir(runs.parent)

    def told(*arguments: str) -> tuple[int, str, str]:
        code = main(["history", *arguments])
        return code, *capsys.readouterr()

    return told


def test_the_change_is_told_in_words_and_drawn(history: History) -> None:
    code, out, _ = history("--only", "kind-1", "--chart", "all.svg")
    assert code == 0
    assert "commit aaaaaaaaaa became bbbbbbbbbb" in out
    assert "native" not in out
    assert "<svg" in Path("all.svg").read_text(encoding="utf-8")


def test_programs_read_the_same_in_json(history: History) -> None:
    told = json.loads(history("--ratio", "--json")[1])
    (series,) = told["series"]
    (found,) = series["changes"]
    assert found["altered"][0]["before"] == "a" * 40
    assert found["change"]["p_value"] <= 0.001
    assert len(series["runs"]) == 40


def test_runs_of_a_commit_are_put_together(history: History) -> None:
    assert "25 runs" in history("--by", "commit")[1]


def test_a_figure_that_no_run_has_is_said(history: History) -> None:
    code, out, _ = history("--metric", "speed")
    assert (code, "has the figure speed" in out) == (0, True)


@pytest.mark.parametrize("name", ["all.png", ""])
def test_a_chart_with_another_ending_is_refused_before_anything_is_read(
    history: History, name: str
) -> None:
    code, _, errors = history(f"--chart={name}")
    assert (code, "ends in .svg or .html" in errors) == (2, True)
