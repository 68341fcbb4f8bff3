"""The one way to wait: for a condition, until a moment of a clock that is handed in.

    if not wait.until(socket.exists, wait.after(5.0)):
        raise ProgramError(...)

Whoever takes the clock as a parameter can be tested on simulated time, which costs none.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol, TypeVar

_Value = TypeVar("_Value")
PERIOD_S = 0.01
"""How often a condition is asked unless the caller says otherwise."""


class Clock(Protocol):
    """Seconds since an arbitrary moment, which never run backwards, and a way to let them pass."""

    def now_s(self) -> float:
        """Seconds since the clock's own beginning."""
        ...

    def sleep(self, seconds: float) -> None:
        """Return when so many seconds have passed; at once where there are none."""
        ...


class Monotonic:
    """CLOCK_MONOTONIC (clock_gettime(2)): unmoved by a date that is set, or a suspended machine."""

    def now_s(self) -> float:
        """Seconds that the machine has been awake since it was booted."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Give up the processor for that long."""
        time.sleep(max(0.0, seconds))


MONOTONIC: Clock = Monotonic()


def after(seconds: float, clock: Clock = MONOTONIC) -> float:
    """The moment of `clock` that comes in so many seconds."""
    return clock.now_s() + seconds


def left_s(deadline_s: float, clock: Clock = MONOTONIC) -> float:
    """Seconds until that moment, 0 once it has come: what a system call that waits is given."""
    return max(0.0, deadline_s - clock.now_s())


def until(
    condition: Callable[[], _Value],
    deadline_s: float,
    clock: Clock = MONOTONIC,
    *,
    period_s: float = PERIOD_S,
) -> _Value:
    """Ask every `period_s` until the answer is true, or `deadline_s` of `clock` has come.

    The last answer is returned. The condition is asked at least once, and once more after the
    deadline: whoever was kept from asking for a while may find that it has come true meanwhile.
    Errors: whatever `condition` raises.
    """
    while True:
        late = clock.now_s() >= deadline_s
        answer = condition()
        if answer or late:
            return answer
        clock.sleep(min(period_s, deadline_s - clock.now_s()))


def until_it_works(
    act: Callable[[], _Value],
    errors: type[Exception] | tuple[type[Exception], ...],
    deadline_s: float,
    clock: Clock = MONOTONIC,
    *,
    period_s: float = PERIOD_S,
) -> _Value:
    """Act every `period_s` until it raises none of `errors`, and return what it returned.

    Errors: that of the first attempt that begins at or after `deadline_s`, and any other at once.
    """
    while True:
        late = clock.now_s() >= deadline_s
        try:
            return act()
        except errors:
            if late:
                raise
        clock.sleep(min(period_s, deadline_s - clock.now_s()))
