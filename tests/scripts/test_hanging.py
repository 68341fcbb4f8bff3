"""A test that hangs ends, is explained, and does not take its whole file with it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.checkout import ROOT

# What is waited for has begun before the first limit does.
_HANGS = """
import atexit, subprocess, threading
import pytest
from tests.waiting import eventually

CHILD = subprocess.Popen(["sleep", "1000"])
atexit.register(CHILD.kill)
WAITER = threading.Thread(target=CHILD.wait, daemon=True)
WAITER.start()

@pytest.fixture
def waits():
    yield
    WAITER.join()  # until the process has been killed

def test_hangs(waits):
    eventually(lambda: False)

def test_shares_it():
    eventually(lambda: False)
"""


def test_a_test_that_hangs_ends_with_its_processes_and_fails_the_rest_at_once(
    tmp_path: Path,
) -> None:
    (tmp_path / "conftest.py").write_text("from tests.conftest import *\n", encoding="utf-8")
    (tmp_path / "test_hangs.py").write_text(_HANGS, encoding="utf-8")
    without_ours = ("-o", "addopts=", "-o", "filterwarnings=", "-p", "no:cacheprovider")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *without_ours, "--timeout=1", f"--rootdir={tmp_path}"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stdout
    assert "this hung: it took more than 1 s" in done.stdout
    assert "sleep 1000" in done.stdout
    assert "not run: tests before it hung" in done.stdout
