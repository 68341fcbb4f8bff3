"""A report is replaced as a whole, or not at all."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from aferir.cli.publish import write_all
from aferir.errors import RefusedError
from aferir.store import FORMS
from tests.unit.report.one_run import one_run


def test_one_file_that_may_not_be_replaced_keeps_all_old_ones(tmp_path: Path) -> None:
    run, evaluation = one_run(tmp_path)
    place = tmp_path / "report"
    for path in write_all(run, evaluation, place).values():
        path.write_text("old", encoding="utf-8")
    last = place / FORMS["json"]
    last.unlink()
    last.mkdir()
    with pytest.raises(RefusedError, match=r"report\.json cannot be replaced: Is a directory"):
        write_all(run, evaluation, place)
    others = [path for path in place.iterdir() if path != last]
    assert len(others) == len(FORMS) - 1
    assert {path.read_text(encoding="utf-8") for path in others} == {"old"}
    last.rmdir()
    written = write_all(run, evaluation, place)
    assert "old" not in {path.read_text(encoding="utf-8") for path in written.values()}
    assert {path.name for path in place.iterdir()} == set(FORMS.values())


def test_the_report_of_an_unfinished_run_says_so(tmp_path: Path) -> None:
    run, evaluation = one_run(tmp_path)
    said = "the run is unfinished"
    for complete in (True, False):
        state = msgspec.structs.replace(run, complete=complete)
        written = write_all(state, evaluation, tmp_path / "report")
        for form in ("html", "markdown", "json"):
            assert (said in written[form].read_text(encoding="utf-8")) is not complete
