"""Time in which we, or a program of ours, really ran: what passes while stopped does not count.

A SIGSTOP, Ctrl-Z, a debugger, a control group that is frozen or a virtual machine that is held
stop a process without telling it, and its monotonic clock goes on meanwhile. The kernel keeps no
account of that time; whoever looks at the clock often sees it as a gap.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aferir.linux.wait import MONOTONIC, Clock

TICK_S = 1.0
"""How often the clock is looked at."""
_GAP_S = 4 * TICK_S
"""A longer time between two looks is no busy machine any more: we were stopped."""
_OWN_FAULT = (signal.SIGTTIN, signal.SIGTTOU)
"""What stops a program that reads from a terminal or sets it: it would wait for ever."""
_STOPPED = "T"


class Running:
    """Implements `aferir.linux.wait.Clock`: seconds since it was made in which we ran."""

    def __init__(self, clock: Clock = MONOTONIC) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._last_s = clock.now_s()
        self._ran_s = 0.0
        self._stopped_s = 0.0

    def now_s(self) -> float:
        """Look, and count what has passed since the last look."""
        with self._lock:
            now_s = self._clock.now_s()
            passed_s, self._last_s = now_s - self._last_s, now_s
            counted_s = passed_s if passed_s <= _GAP_S else TICK_S
            self._ran_s += counted_s
            self._stopped_s += passed_s - counted_s
            return self._ran_s

    def sleep(self, seconds: float) -> None:
        """Return when we have run for so many seconds."""
        until_s = self.now_s() + seconds
        while (left_s := until_s - self.now_s()) > 0:
            self._clock.sleep(min(TICK_S, left_s))

    def stopped_s(self) -> float:
        """Seconds so far that did not count."""
        self.now_s()
        return self._stopped_s

    @contextmanager
    def ticking(self) -> Iterator[None]:
        """Look every `TICK_S` meanwhile, however long others wait: a gap is then no wait."""
        ended = threading.Event()

        def look() -> None:
            while not ended.wait(TICK_S):
                self.now_s()

        thread = threading.Thread(target=look, name="running", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


def is_stopped(pid: int) -> bool:
    """Whether somebody has stopped that child of ours, or a process that descends from it."""
    try:
        told = os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:  # it has just ended, and so will never be stopped again
        return False
    if told is not None:
        return told.si_status not in _OWN_FAULT
    return any(_state(process) == _STOPPED for process in _descendants(pid))


def _descendants(pid: int) -> Iterator[int]:
    """Children and theirs (/proc/PID/task/TID/children, proc(5)); itself not."""
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = path.read_text(encoding="ascii").split()
        except OSError:
            continue
        for child in children:
            yield int(child)
            yield from _descendants(int(child))


def _state(pid: int) -> str:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return text.rpartition(")")[2].split()[0]
