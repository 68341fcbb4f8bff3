"""What `aferir interactive` prints of requests that failed."""

from __future__ import annotations

import pytest

from aferir.cli import interactive
from aferir.environments.interactive import Outcome


def test_equal_failures_are_told_once_and_no_table_is_empty(
    capsys: pytest.CaptureFixture[str],
) -> None:
    interactive._print("podman", Outcome((), ("no root", "no root", "no image")))
    assert capsys.readouterr().out.splitlines() == [
        "podman: 0 requests answered, 3 failed",
        "failed, 2 times: no root",
        "failed: no image",
    ]
