"""Waiting for a condition in tests."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

_Value = TypeVar("_Value")


def eventually(condition: Callable[[], _Value], *, look_every_s: float = 0.01) -> _Value:
    """Wait until the answer is true, and return it.

    There is no deadline of its own: how long something takes on a busy machine is no matter of a
    test. One that waits in vain is ended after 15 minutes, with what it waited for
    (`tests.hanging`).
    """
    while not (answer := condition()):
        time.sleep(look_every_s)
    return answer
