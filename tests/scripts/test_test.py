"""`make test` runs every test, and lanes name files that exist."""

from __future__ import annotations

import os
import subprocess
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.checkout import ROOT
from tests.lanes import LONGEST, TOGETHER, lane_of, turn_of

TESTS = ROOT / "tests"
FILES = sorted(str(path.relative_to(ROOT)) for path in TESTS.rglob("test_*.py"))
ON_REQUEST = ("tests/docs_commands", "tests/openstack_host")


def test_all_folders_with_tests_are_gone_through() -> None:
    lines = (ROOT / "scripts/test").read_text(encoding="utf-8").splitlines()
    assert '    python -m pytest -n "$processes" || failed=$?' in lines  # of all `testpaths`
    options = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    named = options["tool"]["pytest"]["ini_options"]["testpaths"]
    folders = {"/".join(Path(file).parts[:2]) for file in FILES}
    assert sorted(named) == sorted(folders - set(ON_REQUEST))


@pytest.mark.parametrize("pattern", [one for patterns in TOGETHER.values() for one in patterns])
def test_what_shares_a_lane_is_there(pattern: str) -> None:
    assert any(fnmatch(file, pattern) for file in FILES)


def test_lanes_that_start_first_are_there_and_do() -> None:
    assert set(LONGEST) <= {lane_of(file) for file in FILES}
    order = list(dict.fromkeys(lane_of(file) for file in sorted(FILES, key=turn_of)))
    assert tuple(order[: len(LONGEST)]) == LONGEST
    assert order[-1].startswith("tests/unit/")


def test_files_of_one_lane_are_together_and_all_others_are_lanes_of_their_own() -> None:
    shared = [file for file in FILES if lane_of(file) in TOGETHER]
    assert len(shared) > len(TOGETHER)
    assert all(lane_of(file) == file for file in FILES if file not in shared)


def test_bytecode_is_kept_whatever_the_environment_says(tmp_path: Path) -> None:
    scripts, programs = tmp_path / "scripts", tmp_path / ".venv/bin"
    for folder in (scripts, programs):
        folder.mkdir(parents=True)
    (scripts / "test").write_bytes((ROOT / "scripts/test").read_bytes())
    (programs / "python").write_text("#!/bin/sh\nenv > environment\n", encoding="utf-8")
    for name in ("cmake", "ctest"):
        (programs / name).write_text("#!/bin/sh\n", encoding="utf-8")
    for program in programs.iterdir():
        program.chmod(0o755)
    asked = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run(["sh", scripts / "test"], env=asked, capture_output=True, check=True)
    told = (tmp_path / "environment").read_text(encoding="utf-8")
    assert "PATH=" in told
    assert "PYTHONDONTWRITEBYTECODE" not in told
