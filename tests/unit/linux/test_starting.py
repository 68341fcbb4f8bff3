"""Processes that have not executed their program yet, when whoever made them has been killed."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import uuid

from aferir.linux import starting, undo
from tests.unit.linux.simulated_clock import SimulatedClock


class Waits(SimulatedClock):
    """A clock that stands still, and lets something go on at its third wait."""

    def __init__(self, go_on: int) -> None:
        super().__init__()
        self._go_on = go_on

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if len(self.slept) == 3:
            os.write(self._go_on, b"x")
        time.sleep(seconds)


def test_one_that_has_still_to_execute_its_program_is_waited_for() -> None:
    """It has no mark yet, and would run on after everything was cleaned up."""
    mark = uuid.uuid4().hex
    source, sink = os.pipe()
    with starting.named():
        pid = os.fork()
        if pid == 0:
            os.read(source, 1)
            variables = {**os.environ, undo.MARK: mark}
            os.execvpe("sleep", ["sleep", "1000"], variables)  # noqa: S606
    try:
        assert starting.is_under_way(pid)
        assert undo.kill_marked(mark, clock=Waits(sink)) == 1
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(source)
        os.close(sink)


def test_others_are_not_under_way() -> None:
    """This process, a program without variables, and one that has ended."""
    assert not starting.is_under_way(os.getpid())
    with subprocess.Popen(
        ["cat"], env={}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(b"x")
        assert child.stdout.read(1) == b"x"
        assert not starting.is_under_way(child.pid)
        child.stdin.close()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert not starting.is_under_way(child.pid)


def test_one_that_is_stopped_meanwhile_is_not_waited_for_for_ever() -> None:
    source, sink = os.pipe()
    with starting.named():
        pid = os.fork()
        if pid == 0:
            os.read(source, 1)
            os._exit(0)
    try:
        assert undo.kill_marked(uuid.uuid4().hex, clock=SimulatedClock()) == 0
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(source)
        os.close(sink)
