"""Trials whose results are stored are not run again."""

from __future__ import annotations

from pathlib import Path

import pytest

from aferir.errors import UsageError
from benchmarks.trials import Attempt, trials


def never(_: int) -> Attempt:
    pytest.fail("a trial that is on the disk was run again")


def test_a_file_of_trials_goes_on_where_it_stopped(tmp_path: Path) -> None:
    answers = iter(["slower", "pass", "undecided", "pass"])

    def attempt(before: int) -> Attempt:
        return Attempt(next(answers), f"after {before}")

    file = tmp_path / "trials.jsonl"
    first = trials("planted", 1, attempt, file, lambda *_: None)
    trials("itself", 1, attempt, file, lambda *_: None)
    made = trials("planted", 3, attempt, file, lambda *_: None)
    assert [one.answer for one in made] == ["slower", "undecided", "pass"]
    assert [one.said for one in made] == ["after 0", "after 1", "after 2"]
    assert made[0] == first[0]
    assert trials("planted", 2, never, file, lambda *_: None) == made


def test_a_file_of_another_kind_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("mine\n", encoding="utf-8")
    with pytest.raises(UsageError, match="no file of trials"):
        trials("planted", 1, never, file, lambda *_: None)
    assert file.read_text(encoding="utf-8") == "mine\n"
