"""Progress messages of a bench."""

from __future__ import annotations

import pytest

from aferir.cli.bench import _Line


@pytest.mark.parametrize("quiet", [False, True])
def test_elsewhere_than_on_a_terminal_each_step_is_a_line(
    capfd: pytest.CaptureFixture[str], quiet: bool
) -> None:
    with _Line(quiet=quiet) as line:
        line.show("planted 10 %, trial 3: 2 found", 0.05)
    shown = capfd.readouterr().err
    assert shown == ("" if quiet else "[  5%] planted 10 %, trial 3: 2 found\n")
