"""Copies of root's userland for an ordinary user."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from aferir.errors import ProgramError
from aferir.image import own_tree


@pytest.mark.parametrize("said", ["", "cannot open 'etc/shadow' for reading: Permission denied"])
def test_what_an_ordinary_user_may_not_read_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    a_cp_that_says(tmp_path, monkeypatch, said)
    own_tree._copy(tmp_path / "tree", tmp_path / "copy")


def test_a_copy_that_is_not_whole_is_no_userland(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ProgramError, match="No such file or directory"):
        own_tree._copy(tmp_path / "tree", tmp_path / "copy")
    a_cp_that_says(tmp_path, monkeypatch, "error writing 'usr/lib/x': No space left on device")
    with pytest.raises(ProgramError, match="No space left on device"):
        own_tree._copy(tmp_path / "tree", tmp_path / "copy")


def a_cp_that_says(folder: Path, monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    """Put a program named cp first on the path that writes these words, and exits as cp does."""
    program = folder / "cp"
    line = f'echo "cp: {said}" >&2; exit 1' if said else "exit 0"
    program.write_text(f"#!/bin/sh\n{line}\n", encoding="ascii")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
