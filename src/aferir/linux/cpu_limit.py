"""Limits the CPU time of a computation in this process, such as a search that backtracks forever.

Python checks for signals while it matches a regular expression, so that a signal can end it.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


@contextlib.contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in the block after `seconds` of this process's CPU time in user mode.

    CPU time counts and not elapsed time, so that nothing is ended only because the machine was busy
    or stopped. Only the main thread executes signal handlers; in others there is no limit.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGVTALRM, _expire)
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
    finally:
        signal.signal(signal.SIGVTALRM, before)


def _expire(_number: int, _frame: FrameType | None) -> None:
    raise TimeoutError
