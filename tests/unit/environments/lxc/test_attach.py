"""Failures of lxc-attach before it has entered the container; all else needs a container."""

from __future__ import annotations

from pathlib import Path

import pytest

from aferir.environments.lxc import attach
from aferir.errors import ProgramError
from aferir.linux.process import Completed

_BUSY = "echo 'Device or resource busy - Failed to rexec as memfd' >&2; kill -SEGV $$"


def test_it_is_run_again_where_it_could_not_seal_the_copy_of_itself(tmp_path: Path) -> None:
    once = tmp_path / "once"
    done = _attached(f"if ! [ -e '{once}' ]; then : > '{once}'; {_BUSY}; fi; echo done")
    assert done.stdout == "done\n"


def test_it_fails_where_it_never_can() -> None:
    with pytest.raises(ProgramError, match="was ended by SIGSEGV"):
        _attached(_BUSY)


def test_what_a_program_says_later_is_no_reason_to_run_it_again(tmp_path: Path) -> None:
    count = tmp_path / "count"
    with pytest.raises(ProgramError):
        _attached(f"echo run >> '{count}'; echo first >&2; {_BUSY}")
    assert count.read_text(encoding="ascii") == "run\n"


def _attached(script: str) -> Completed:
    line = ["sh", "-c", script]
    return attach.run_marked(line, ["program"], mark="none", timeout_s=None, check=True)
