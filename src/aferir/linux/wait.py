"""The only way to wait: for a condition, until a deadline on a given clock.

    if not wait.until(socket.exists, wait.after(5.0)):
        raise ProgramError(...)

Code that takes the clock as a parameter can be tested on simulated time, which costs none.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol, TypeVar

_Value = TypeVar("_Value")
PERIOD_S = 0.01
"""Default polling period in s."""


class Clock(Protocol):
    """A clock in s from an arbitrary origin that never runs backwards, and a way to wait on it."""

    def now_s(self) -> float:
        """Time in s since the clock's origin."""
        ...

    def sleep(self, seconds: float) -> None:
        """Return when `seconds` have passed; at once for 0 or less."""
        ...


class Monotonic:
    """CLOCK_MONOTONIC (clock_gettime(2)): not affected by setting the date or by suspension."""

    def now_s(self) -> float:
        """Time in s that the machine has been awake since boot."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Sleep for `seconds`."""
        time.sleep(max(0.0, seconds))


MONOTONIC: Clock = Monotonic()


def after(seconds: float, clock: Clock = MONOTONIC) -> float:
    """Deadline on `clock`, `seconds` from now."""
    return clock.now_s() + seconds


def left_s(deadline_s: float, clock: Clock = MONOTONIC) -> float:
    """Time in s until the deadline, 0 once it has passed: the timeout for a blocking call."""
    return max(0.0, deadline_s - clock.now_s())


def until(
    condition: Callable[[], _Value],
    deadline_s: float,
    clock: Clock = MONOTONIC,
    *,
    period_s: float = PERIOD_S,
) -> _Value:
    """Poll `condition` every `period_s` until it is true, or until `deadline_s` on `clock`.

    Returns the last value. The condition is polled at least once, and once more after the deadline,
    since it may have become true while the caller did not run. Errors: whatever `condition` raises.
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
    """Call `act` every `period_s` until it raises none of `errors`, and return its value.

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
