"""Time without stops: on simulated clocks, and of real children that are stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from aferir.errors import TimeoutExpired
from aferir.linux import process, wait
from aferir.linux.running import Running, descendants, is_stopped
from tests.unit.linux.simulated_clock import SimulatedClock
from tests.waiting import eventually


def test_time_counts_in_full_if_the_clock_is_read_often() -> None:
    clock = SimulatedClock()
    running = Running(clock)
    for _ in range(10):
        clock.advance(2.5)
        running.now_s()
    assert running.now_s() == 25.0
    assert running.stopped_s() == 0.0


def test_a_stop_counts_as_no_more_than_a_tick() -> None:
    clock = SimulatedClock()
    running = Running(clock)
    clock.advance(3600.0)
    assert running.now_s() == 1.0
    assert running.stopped_s() == 3599.0
    clock.advance(1.0)
    assert running.now_s() == 2.0


def test_a_wait_lasts_as_long_as_we_ran() -> None:
    clock = SimulatedClock()
    running = Running(clock)
    assert not wait.until(lambda: False, wait.after(30.0, running), running, period_s=10.0)
    assert running.now_s() == 30.0
    assert clock.now_s() == 1030.0


def test_the_clock_is_read_while_other_code_waits() -> None:
    clock = SimulatedClock()
    running = Running(clock)
    with running.ticking():
        clock.advance(3.0)
        eventually(lambda: running._last_s == 1003.0)
    assert running.now_s() == 3.0


@contextmanager
def child(code: str) -> Iterator[subprocess.Popen[str]]:
    made = process.start([sys.executable, "-c", code], stdout=subprocess.PIPE)
    try:
        assert made.stdout is not None
        made.stdout.readline()
        yield made
    finally:
        os.killpg(made.pid, signal.SIGCONT)
        process.end(made)


SLEEPS = "import time; print(flush=True); time.sleep(60)"


def test_a_child_that_is_stopped_and_continued() -> None:
    with child(SLEEPS) as made:
        assert not is_stopped(made.pid)
        made.send_signal(signal.SIGSTOP)
        eventually(lambda: is_stopped(made.pid))
        made.send_signal(signal.SIGCONT)
        eventually(lambda: not is_stopped(made.pid))


def test_a_grandchild_that_is_stopped() -> None:
    code = (
        "import subprocess, sys; c = subprocess.Popen([sys.executable, '-c', 'input()'],"
        " stdin=subprocess.PIPE); print(c.pid, flush=True); c.wait()"
    )
    made = process.start([sys.executable, "-c", code], stdout=subprocess.PIPE)
    try:
        assert made.stdout is not None
        grandchild = int(made.stdout.readline())
        assert not is_stopped(made.pid)
        os.kill(grandchild, signal.SIGSTOP)
        eventually(lambda: is_stopped(made.pid))
        os.kill(grandchild, signal.SIGCONT)
        eventually(lambda: not is_stopped(made.pid))
    finally:
        process.end(made)


@pytest.mark.parametrize("number", [signal.SIGTTIN, signal.SIGTTOU])
def test_a_child_that_waits_for_a_terminal_is_not_waited_for(number: signal.Signals) -> None:
    code = f"import os; os.kill(os.getpid(), {int(number)}); print('went on')"
    with pytest.raises(TimeoutExpired):
        process.run([sys.executable, "-c", code], timeout_s=0.6)


def test_a_program_that_is_found_stopped_uses_up_none_of_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs for longer than its limit; what is found at each look decides."""
    looks: list[int] = []

    def stopped(pid: int) -> bool:
        looks.append(pid)
        if len(looks) == 10:
            (tmp_path / "go").touch()
        return True

    monkeypatch.setattr(process, "_LOOK_S", 0.05)
    monkeypatch.setattr(process, "is_stopped", stopped)
    script = f"until [ -e {tmp_path}/go ]; do sleep 0.05; done; echo went on"
    done = process.run(["sh", "-c", script], timeout_s=0.1)
    assert done.stdout == "went on\n"
    assert done.stopped_s > 0
    monkeypatch.setattr(process, "is_stopped", lambda _pid: False)
    with pytest.raises(TimeoutExpired):
        process.run(["sleep", "60"], timeout_s=0.1)


def test_what_a_program_says_survives_many_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_LOOK_S", 0.05)
    monkeypatch.setattr(process, "is_stopped", lambda _pid: True)
    script = "seq 20000; sleep 0.5; seq 20000"
    done = process.run(["sh", "-c", script], timeout_s=0.1)
    assert done.stdout == 2 * "".join(f"{number}\n" for number in range(1, 20001))


def test_what_a_program_is_told_reaches_it_however_late_it_reads() -> None:
    text = "line\n" * 50_000
    done = process.run(["sh", "-c", "sleep 2; cat"], timeout_s=100.0, input_text=text)
    assert done.stdout == text


def test_a_process_that_has_ended_has_no_descendants() -> None:
    child = process.start(["true"])
    child.wait()
    assert list(descendants(child.pid)) == []
