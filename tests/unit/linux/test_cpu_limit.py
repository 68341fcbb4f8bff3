"""A computation in this process that takes too long is ended."""

from __future__ import annotations

import re
import signal
import threading

import pytest

from aferir.linux.cpu_limit import cpu_limit

BACKTRACKS = r"^(a+)+$b"
TEXT = "a" * 22
"""Text in which that expression takes some 2^22 steps: it ends by itself, but much later."""


def test_a_search_that_backtracks_is_ended_and_nothing_stays_set() -> None:
    before = signal.getsignal(signal.SIGVTALRM)
    with pytest.raises(TimeoutError), cpu_limit(0.01):
        re.search(BACKTRACKS, TEXT)
    with cpu_limit(60.0):
        assert re.search("a+", TEXT)
    assert signal.getsignal(signal.SIGVTALRM) is before
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


def test_another_thread_has_no_limit() -> None:
    found: list[bool] = []

    def search() -> None:
        with cpu_limit(1e-6):
            found.append(bool(re.search("a+", TEXT)))

    thread = threading.Thread(target=search)
    thread.start()
    thread.join()
    assert found == [True]
