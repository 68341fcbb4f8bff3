"""Whether a clone must be set up again, after it was moved or copied, or Python changed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.checkout import ROOT

SCRIPT = ROOT / "scripts" / "venv-usable"


def usable(folder: Path) -> bool:
    return subprocess.run([SCRIPT], cwd=folder, check=False).returncode == 0


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clones") / "my clone"
    folder.mkdir()
    subprocess.run([sys.executable, "-m", "venv", str(folder / ".venv")], check=True)
    return folder


def test_one_that_was_made_here_is_usable_by_any_path(made: Path, tmp_path: Path) -> None:
    assert usable(made)
    (tmp_path / "link").symlink_to(made)
    assert usable(tmp_path / "link")


def test_one_that_was_moved_or_copied_is_not(made: Path, tmp_path: Path) -> None:
    copied = tmp_path / "copy"
    shutil.copytree(made, copied, symlinks=True)
    assert not usable(copied)
    moved = made.with_name("renamed")
    made.rename(moved)
    try:
        assert not usable(moved)
    finally:
        moved.rename(made)
    assert usable(made)


def test_one_that_is_not_there_or_was_not_made_to_its_end_is_not(
    made: Path, tmp_path: Path
) -> None:
    assert not usable(tmp_path)
    copied = tmp_path / "half"
    shutil.copytree(made, copied, symlinks=True)
    (copied / ".venv" / "bin" / "pip").unlink()
    assert not usable(copied)


def test_one_whose_packages_are_another_python_s_is_not(made: Path) -> None:
    (packages,) = made.glob(".venv/lib/python3.*")
    older = packages.with_name("python3.2")
    packages.rename(older)
    try:
        assert not usable(made)
    finally:
        older.rename(packages)
    assert usable(made)
