"""Selection of the runs that `aferir compare` compares."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from aferir.cli import main
from tests.unit.report.one_run import one_run


def test_a_copy_of_a_run_is_no_second_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, _ = one_run(tmp_path)
    first, copy = str(run.folder), str(tmp_path / "copy")
    shutil.copytree(first, copy)
    assert main(["compare", first, copy, "--against", copy]) == 2
    assert f"{copy} is the same run as {first}" in capsys.readouterr().err
    assert main(["compare", first, copy]) == 0
    assert f"{copy} is the same run as {first}" in capsys.readouterr().out
