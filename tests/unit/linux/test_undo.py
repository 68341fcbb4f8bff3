"""Ending what is provably ours, whatever the machine is busy with."""

from __future__ import annotations

import os
import subprocess
import uuid

import pytest

from aferir.linux import undo


class Clock:
    """One on which every look takes a minute."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        self.now_s += 60.0
        return self.now_s

    def sleep(self, seconds: float) -> None:
        pass


def test_looking_for_long_is_no_survivor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(undo, "time", Clock())
    assert undo.kill(lambda *_: False) == 0


def test_a_process_that_is_found_late_is_killed() -> None:
    mark = uuid.uuid4().hex
    child = subprocess.Popen(["sleep", "60"], env={**os.environ, undo.MARK: mark})
    assert undo.kill_marked(mark) == 1
    assert child.wait() < 0


def test_one_that_is_still_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(undo, "time", Clock())
    monkeypatch.setattr(os, "kill", lambda *_: None)
    mark = uuid.uuid4().hex
    with subprocess.Popen(["sleep", "60"], env={**os.environ, undo.MARK: mark}) as child:
        try:
            with pytest.raises(OSError, match=str(child.pid)):
                undo.kill_marked(mark)
        finally:
            monkeypatch.undo()
            child.kill()
