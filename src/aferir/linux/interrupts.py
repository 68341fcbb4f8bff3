"""Signals that end a command: the first one ends it in order, later ones do not hinder clean-up."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_ENDING = (signal.SIGTERM, signal.SIGHUP)
_Handler = Callable[[int, FrameType | None], object]


@contextmanager
def ending_signals() -> Iterator[None]:
    """Make SIGINT, SIGTERM and SIGHUP raise KeyboardInterrupt once; later ones are ignored.

    SIGHUP stays ignored under nohup(1). Two signals arrive together if a program and its process
    group are both ended, as by timeout(1): the second one would interrupt the release of an
    instance that is half made.
    """
    known = (signal.SIGINT, *_ENDING)
    numbers = [n for n in known if signal.getsignal(n) is not signal.SIG_IGN]
    with _handled(_interrupting_once(), numbers):
        yield


@contextmanager
def shielded() -> Iterator[None]:
    """Delay SIGINT, SIGTERM and SIGHUP within the block, which releases what was made.

    A delayed signal is raised after the block, unless the block runs because of an error.
    """
    unwinding = sys.exc_info()[0] is not None
    came: list[int] = []
    with _handled(lambda number, _frame: came.append(number), [signal.SIGINT, *_ENDING]):
        yield
    if came and not unwinding:
        signal.raise_signal(came[0])


def _interrupting_once() -> _Handler:
    told = False

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        nonlocal told
        if not told:
            told = True
            raise KeyboardInterrupt

    return interrupt


@contextmanager
def _handled(handler: _Handler, numbers: list[signal.Signals]) -> Iterator[None]:
    # Only the main thread may set handlers (signal.signal); other threads leave them unchanged.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
