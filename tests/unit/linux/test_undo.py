"""Ending only processes that are provably aferir's, even on a busy machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from aferir.linux import undo
from tests.unit.linux.simulated_clock import SimulatedClock


class SlowLooks(SimulatedClock):
    """A clock of a machine so busy that every look at it takes a minute."""

    def now_s(self) -> float:
        self.advance(60.0)
        return super().now_s()


def test_a_long_search_for_processes_is_no_surviving_process() -> None:
    assert undo.kill(lambda *_: False, clock=SlowLooks()) == 0


def test_a_process_that_is_found_late_is_killed() -> None:
    mark = uuid.uuid4().hex
    child = subprocess.Popen(["sleep", "60"], env={**os.environ, undo.MARK: mark})
    assert undo.kill_marked(mark) == 1
    assert child.wait() < 0


def test_a_process_that_is_still_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signal, "pidfd_send_signal", lambda *_: None)
    mark = uuid.uuid4().hex
    with subprocess.Popen(["sleep", "60"], env={**os.environ, undo.MARK: mark}) as child:
        try:
            with pytest.raises(OSError, match=str(child.pid)):
                undo.kill(lambda _, variables: variables.get(undo.MARK) == mark, clock=SlowLooks())
        finally:
            monkeypatch.undo()
            child.kill()


def test_folders_may_be_nested_deeper_than_python_follows_them(tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    here = os.open(top, os.O_RDONLY)
    for _ in range(sys.getrecursionlimit() + 1):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    undo.remove_tree(top)
    assert not top.exists()


def test_a_signal_reaches_only_the_process_that_is_meant() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        undo.send(child.pid, signal.SIGKILL, lambda _: False)
        assert child.poll() is None
        undo.send(child.pid, signal.SIGKILL, lambda pid: pid == child.pid)
    assert child.returncode == -signal.SIGKILL
