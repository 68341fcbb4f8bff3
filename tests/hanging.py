"""Ends tests that hang, says what they waited for, and fails the rest of their file at once.

pytest-timeout reads the limit of a test, and its hook lets us enforce it. Its own timer stops when
a test has failed, so that the teardown has no limit; it does not name the processes that are waited
for; and each test that shares a broken cluster or guest would take the whole limit again.
"""

from __future__ import annotations

import contextlib
import faulthandler
import math
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Protocol

import pytest

from aferir.linux.running import descendants

_AGAIN_SHARE = 0.25
"""Share of the time limit that a test which has hung gets for each further thing that hangs."""


class Settings(Protocol):
    """Values that pytest-timeout passes to its hooks."""

    timeout: float


_LIMIT_S = pytest.StashKey[float]()
"""Time limit in s of each phase of a test; absent: none."""
_BEGAN_S = pytest.StashKey[float]()
_HUNG = pytest.StashKey[bool]()
_LOST_S = pytest.StashKey[float]()
"""Time in s that the failed tests of a file took."""


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Settings) -> bool:
    """Note the limit; True: pytest-timeout starts no timer of its own."""
    item.stash[_LIMIT_S] = settings.timeout
    return True


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """Limit the first phase of a test."""
    with _limit(item):
        yield


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Limit the second phase of a test."""
    with _limit(item):
        yield


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Limit the last phase of a test."""
    with _limit(item):
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the time that a failed test took to the lost time of its file."""
    report = yield
    if report.failed and _BEGAN_S in item.stash:
        lost_s = time.monotonic() - item.stash[_BEGAN_S]
        _file(item).stash[_LOST_S] = _file(item).stash.get(_LOST_S, 0.0) + lost_s
    return report


def refuse_rest(item: pytest.Item) -> None:
    """Fail a test of a file whose failed tests took the time limit of one test already."""
    if _is_lost(item):
        pytest.fail("not run: tests before it hung, and may share with it what is broken", False)


@contextlib.contextmanager
def _limit(item: pytest.Item) -> Iterator[None]:
    """Interrupt a phase of a test, which runs in the block, after the time limit of the test.

    The first alarm reports and interrupts it, and what the test made may then be removed. Further
    alarms kill the processes that the test has started, too. If a function in C blocks, so that
    Python handles no alarm, this process exits after twice the limit.
    """
    if _LIMIT_S not in item.stash:
        yield
        return
    limit_s = item.stash[_LIMIT_S]
    item.stash.setdefault(_BEGAN_S, time.monotonic())

    def report_and_interrupt(_number: int, _frame: FrameType | None) -> None:
        pids = list(descendants(os.getpid()))
        item.add_report_section("hang", "threads", _other_threads())
        item.add_report_section("hang", "processes", "\n".join(map(_shown, pids)))
        if _is_lost(item):
            _kill(pids)
        item.stash[_HUNG] = True
        pytest.fail(f"this hung: it took more than {limit_s:g} s")

    before = signal.signal(signal.SIGALRM, report_and_interrupt)
    faulthandler.dump_traceback_later(2 * limit_s, exit=True, file=2)
    again_s = _AGAIN_SHARE * limit_s
    signal.setitimer(signal.ITIMER_REAL, again_s if _is_lost(item) else limit_s, again_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        faulthandler.cancel_dump_traceback_later()


def _is_lost(item: pytest.Item) -> bool:
    """Whether this test has hung, or those of its file that failed took the limit of one test."""
    lost_s = _file(item).stash.get(_LOST_S, 0.0)
    return item.stash.get(_HUNG, False) or lost_s >= item.stash.get(_LIMIT_S, math.inf)


def _file(item: pytest.Item) -> pytest.File:
    return next(node for node in item.listchain() if isinstance(node, pytest.File))


def _other_threads() -> str:
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    return "\n".join(
        f"{names.get(ident, ident)}:\n{''.join(traceback.format_stack(frame))}"
        for ident, frame in sys._current_frames().items()
        if ident != threading.get_ident()
    )


def _shown(pid: int) -> str:
    """PID, state and command of a process, as ps(1) prints them."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
        return f"{pid} {_state_and_parent(pid)[0]} {os.fsdecode(command)}"
    except OSError:
        return f"{pid} has ended"


def _state_and_parent(pid: int) -> tuple[str, int]:
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    state, parent = stat.rpartition(")")[2].split()[:2]
    return state, int(parent)


def _kill(pids: Sequence[int]) -> None:
    """Kill descendants of this process, but none that has received the PID of one meanwhile."""
    family = {os.getpid(), *pids}
    with contextlib.ExitStack() as handles:
        ours = []
        for pid in pids:
            with contextlib.suppress(OSError):  # it has ended
                handle = os.pidfd_open(pid)
                handles.callback(os.close, handle)
                if _state_and_parent(pid)[1] in family:
                    ours.append(handle)
        for handle in ours:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
