"""A clock for tests, on which time passes when code sleeps, or when the test says so."""

from __future__ import annotations


class SimulatedClock:
    """Implements `aferir.linux.wait.Clock`."""

    def __init__(self, now_s: float = 1000.0) -> None:
        self._now_s = now_s
        self.slept: list[float] = []

    def now_s(self) -> float:
        return self._now_s

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        self._now_s += max(0.0, seconds)
