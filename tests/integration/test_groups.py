"""Processes of a control group are stopped, whatever they are doing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from aferir.environments import groups
from aferir.linux import cgroup
from tests.waiting import eventually

pytestmark = pytest.mark.integration

ITSELF_ANEW = """
import os, sys, threading, time
for _ in range(8):
    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
os.execv(sys.executable, [sys.executable, "-I", "-S", __file__])
"""


def test_a_program_that_ends_its_threads_to_execute_another_is_stopped(tmp_path: Path) -> None:
    """The one that executes waits for threads, and is not stopped while they are."""
    root = cgroup.layout().v1.get("freezer")
    if root is None or os.geteuid() != 0:
        pytest.skip("takes root, and a freezer of version 1")
    script = tmp_path / "anew.py"
    script.write_text(ITSELF_ANEW, encoding="ascii")
    group = root / f"aferir-test-{os.getpid()}"
    group.mkdir()
    program = subprocess.Popen([sys.executable, "-I", "-S", script])
    try:
        (group / "cgroup.procs").write_text(str(program.pid), encoding="ascii")
        for _ in range(300):
            groups.freeze({"freezer": group}, frozen=True)
            groups.freeze({"freezer": group}, frozen=False)
    finally:
        (group / "freezer.state").write_text("THAWED", encoding="ascii")
        program.kill()
        program.wait()
        eventually(lambda: not cgroup.members(group))
        group.rmdir()
