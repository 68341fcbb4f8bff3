"""A plan is run with progress on standard error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from aferir import runner
from aferir.cli.running import carry_out
from tests.unit.runner.child import plan


def test_a_slow_step_of_an_environment_is_told_while_it_lasts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*_: object, **given: Any) -> None:
        given["context"].progress("building the userland")

    monkeypatch.setattr(runner, "run", run)
    carry_out(plan(), b"", tmp_path)
    assert "building the userland" in capsys.readouterr().err
