"""Measures the time in which we, or a child, really ran: time while stopped does not count.

SIGSTOP, Ctrl-Z, a debugger, a frozen control group or a paused virtual machine stop a process
without notice, while its monotonic clock advances. The kernel does not account for that time; a
clock that is read often shows it as a gap.
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
"""Period in s at which the clock is read."""
_GAP_S = 4 * TICK_S
"""Shortest gap in s between two readings that shows a stop of this process, not a busy machine."""
_OWN_FAULT = (signal.SIGTTIN, signal.SIGTTOU)
"""Signals that stop a program for using a terminal in the background, which would last forever: the
time of such a stop counts.
"""
_STOPPED = "T"


class Running:
    """`Clock` of the seconds since its creation in which this process was not stopped."""

    def __init__(self, clock: Clock = MONOTONIC) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._last_s = clock.now_s()
        self._ran_s = 0.0
        self._stopped_s = 0.0

    def now_s(self) -> float:
        """Return the time in s in which this process has run.

        A gap above 4 s since the last call counts as 1 s.
        """
        with self._lock:
            now_s = self._clock.now_s()
            passed_s, self._last_s = now_s - self._last_s, now_s
            counted_s = passed_s if passed_s <= _GAP_S else TICK_S
            self._ran_s += counted_s
            self._stopped_s += passed_s - counted_s
            return self._ran_s

    def sleep(self, seconds: float) -> None:
        """Return when this process has run for `seconds`."""
        until_s = self.now_s() + seconds
        while (left_s := until_s - self.now_s()) > 0:
            self._clock.sleep(min(TICK_S, left_s))

    def stopped_s(self) -> float:
        """Time in s since the creation that did not count, because this process was stopped."""
        self.now_s()
        return self._stopped_s

    @contextmanager
    def ticking(self) -> Iterator[None]:
        """Read the clock every `TICK_S` in the block: without it a long wait looks like a stop."""
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
    """True if that child of ours, or a descendant of it, is stopped."""
    try:
        told = os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:  # it has just ended, and so will never be stopped again
        return False
    if told is not None:
        return told.si_status not in _OWN_FAULT
    return any(_state(process) == _STOPPED for process in descendants(pid))


def has_ended(pid: int) -> bool:
    """True if a process is no more, or waits only for its parent to notice (proc(5), Z and X)."""
    return _state(pid) in ("", "Z", "X")


def descendants(pid: int) -> Iterator[int]:
    """Descendants of a process, without itself (/proc/PID/task/TID/children, proc(5))."""
    try:  # a process may end at any moment; Path.glob raises an error then
        threads = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return
    for thread in threads:
        try:
            children = (thread / "children").read_text(encoding="ascii").split()
        except OSError:
            continue
        for child in children:
            yield int(child)
            yield from descendants(int(child))


def _state(pid: int) -> str:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return text.rpartition(")")[2].split()[0]
