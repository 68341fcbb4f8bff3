"""Exclusive locks of folders by flock(2), which leave nothing behind whatever ends their holder."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def _nothing() -> None:
    """Do nothing while the lock is waited for."""


@contextmanager
def held(folder: Path, waiting: Callable[[], None] = _nothing) -> Iterator[None]:
    """Hold the lock of a folder; `waiting` is called first if another has it.

    It excludes other processes, and other threads of this one. Errors: FileNotFoundError.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
