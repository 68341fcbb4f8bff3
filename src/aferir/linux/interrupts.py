"""Signals that end a command: the first one ends it in order, later ones do not hinder clean-up."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_ENDING = (signal.SIGTERM, signal.SIGHUP)
_RAISING = (signal.SIGINT, *_ENDING, signal.SIGALRM)
"""Signals whose handlers raise an exception: ours, and that of tests with a time limit."""
_AGAIN_S = 0.01
"""Time in s after which a signal is sent again: the callback that dropped it is over by then."""
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
    once, before = _Once(sys.unraisablehook), sys.unraisablehook
    sys.unraisablehook = once.dropped
    try:
        with _handled(once.interrupt, numbers):
            yield
    finally:
        sys.unraisablehook = before


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


@contextmanager
def delayed() -> Iterator[None]:
    """Handle signals that come within the block, in which a process is made, after it.

    The process would be lost. And the first Python code to run after fork(2) is that of hooks
    (os.register_at_fork), at whose beginning Python calls the handlers. What a handler raises there
    is dropped: the command would not end. The hook of `logging` would not release its lock, for
    which the next fork waits for ever if another thread makes it.
    """
    came: list[int] = []
    numbers = [number for number in _RAISING if callable(signal.getsignal(number))]
    try:
        with _handled(lambda number, _frame: came.append(number), numbers):
            yield
    finally:
        for number in came:
            signal.raise_signal(number)


class _Once:
    """Raises KeyboardInterrupt once, but again where Python has dropped it.

    It does so in callbacks of weak references, such as each import has, and in `__del__`. The
    exception would then end nothing, and all later signals would be ignored.
    """

    def __init__(self, hook: Callable[[sys.UnraisableHookArgs], object]) -> None:
        self._hook = hook
        self._came: int | None = None

    def interrupt(self, number: int, _frame: FrameType | None) -> None:
        """Handle a signal."""
        if self._came is None:
            self._came = number
            raise KeyboardInterrupt

    def dropped(self, what: sys.UnraisableHookArgs) -> None:
        """Send the signal again, a moment later, if this is its exception."""
        if self._came is None or not issubclass(what.exc_type, KeyboardInterrupt):
            self._hook(what)
            return
        main = threading.main_thread().ident or 0
        again = threading.Timer(_AGAIN_S, signal.pthread_kill, (main, self._came))
        again.daemon = True
        self._came = None
        again.start()


@contextmanager
def _handled(handler: _Handler, numbers: list[signal.Signals]) -> Iterator[None]:
    # Only the main thread may set handlers (signal.signal); other threads leave them unchanged.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: dict[signal.Signals, signal._HANDLER] = {}
    try:  # a handler that is not replaced yet may raise an exception meanwhile
        for number in numbers:
            before[number] = signal.signal(number, handler)
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
