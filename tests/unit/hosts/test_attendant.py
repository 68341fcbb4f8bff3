"""One thread that keeps many connections alive."""

from __future__ import annotations

import queue
import threading

from aferir.hosts.attendant import Attendant


class Heard:
    """A connection that records when it was greeted, and can be broken."""

    def __init__(self, *, broken: bool = False) -> None:
        self.times: queue.Queue[int] = queue.Queue()
        self._broken = broken

    def greet(self) -> None:
        self.times.put(threading.get_ident())
        if self._broken:
            raise BrokenPipeError


def test_all_are_greeted_by_one_thread_whatever_becomes_of_any() -> None:
    attendant = Attendant(period_s=0.001)
    broken, sound = Heard(broken=True), Heard()
    for one in (broken, sound):
        attendant.add(one)
    threads = {one.times.get(timeout=60) for one in (broken, sound) for _ in range(3)}
    assert len(threads) == 1
    attendant.remove(broken)
    attendant.remove(sound)
    attendant.remove(sound)


def test_a_connection_that_comes_after_the_last_one_has_gone_is_greeted_too() -> None:
    attendant = Attendant(period_s=0.001)
    for _ in range(2):
        one = Heard()
        attendant.add(one)
        one.times.get(timeout=60)
        attendant.remove(one)
