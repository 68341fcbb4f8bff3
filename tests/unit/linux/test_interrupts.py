"""Signals that end a run, and signals that arrive while it releases what it made."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from aferir import installed
from aferir.linux import process
from aferir.linux.interrupts import ending_signals

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def _heeded() -> Iterator[None]:
    """None of the signals is ignored, as nohup and shells ignore those of what they start."""
    before = [signal.signal(number, signal.default_int_handler) for number in ENDING]
    yield
    for number, handler in zip(ENDING, before, strict=True):
        signal.signal(number, handler)


def interrupted(first: signal.Signals, given_back: list[bool]) -> None:
    with ending_signals():
        try:
            signal.raise_signal(first)
        finally:
            for number in ENDING:
                signal.raise_signal(number)
            given_back.append(True)


@pytest.mark.parametrize("first", ENDING)
def test_the_first_signal_interrupts_and_no_further_one_hinders_giving_back(
    first: signal.Signals,
) -> None:
    before = [signal.getsignal(number) for number in ENDING]
    given_back: list[bool] = []
    with pytest.raises(KeyboardInterrupt):
        interrupted(first, given_back)
    assert given_back == [True]
    assert [signal.getsignal(number) for number in ENDING] == before


def test_the_next_run_is_interrupted_again() -> None:
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt), ending_signals():
            signal.raise_signal(signal.SIGTERM)


def test_what_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with ending_signals():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


class Ended:
    """An object at whose end a signal comes: Python drops what its handler raises."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGTERM)


def test_a_signal_whose_exception_python_drops_comes_again() -> None:
    def drop_and_wait() -> None:
        with ending_signals():
            Ended()
            threading.Event().wait()

    with pytest.raises(KeyboardInterrupt):
        drop_and_wait()


# The first hook after the fork sends the signal, and Python calls its handler at the beginning of
# the second, which is that of `logging`.
_DURING_A_FORK = """
import ctypes, functools, os, signal, threading

os.register_at_fork(after_in_parent=functools.partial(getattr(ctypes.CDLL(None), "raise"), 2))
import logging
from aferir.linux import process

try:
    process.start(["sleep", "60"])
except KeyboardInterrupt:
    def look():
        if logging._lock.acquire(blocking=False):
            print("interrupted, and its lock is free")
            logging._lock.release()

    other = threading.Thread(target=look)
    other.start()
    other.join()
"""


def test_a_signal_during_a_fork_interrupts_and_leaves_no_lock(tmp_path: Path) -> None:
    none = {installed.FOLDER_VARIABLE: str(tmp_path)}  # without our program, Python forks itself
    done = process.run([sys.executable, "-c", _DURING_A_FORK], environment=none)
    assert (done.stdout, done.stderr) == ("interrupted, and its lock is free\n", "")
