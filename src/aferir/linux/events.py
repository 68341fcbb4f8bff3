"""Waiting for what a process writes to a folder, by events: the moment is known to some 50 us.

Asking again and again, as `aferir.linux.wait` does, knows it to within the time between two
questions, which is a tenth of what a container takes to start.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
from collections.abc import Callable, Iterator
from pathlib import Path

from aferir.linux import wait

_MODIFY, _MOVED_TO, _CREATE = 0x2, 0x80, 0x100
"""IN_MODIFY, IN_MOVED_TO, IN_CREATE (<sys/inotify.h>)."""
_libc = ctypes.CDLL(None, use_errno=True)


def until(condition: Callable[[], bool], timeout_s: float, *, folder: Path, pid: int) -> bool:
    """Wait until `condition` holds; it is asked whenever something changes directly in `folder`.

    False where the process `pid`, a child of ours, ends before, or `timeout_s` is over.
    Errors: OSError where the folder is not there.
    """
    deadline_s = wait.after(timeout_s)
    with _watch(folder) as changes, _handle(pid) as end:
        while True:
            if condition():
                return True
            ready, _, _ = select.select([changes, end], [], [], wait.left_s(deadline_s))
            if changes in ready:
                os.read(changes, 1 << 16)  # which of them it was does not matter
            if end in ready or not ready:
                return condition()


@contextlib.contextmanager
def _watch(folder: Path) -> Iterator[int]:
    """Handle that can be read when a file in the folder is made or written to (inotify(7))."""
    handle = _libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
    if handle < 0:
        raise _error("inotify_init1")
    try:
        wanted = ctypes.c_uint32(_MODIFY | _MOVED_TO | _CREATE)
        if _libc.inotify_add_watch(handle, os.fsencode(folder), wanted) < 0:
            raise _error(str(folder))
        yield handle
    finally:
        os.close(handle)


@contextlib.contextmanager
def _handle(pid: int) -> Iterator[int]:
    """Handle that can be read when a process has ended (pidfd_open(2))."""
    handle = os.pidfd_open(pid)
    try:
        yield handle
    finally:
        os.close(handle)


def _error(what: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number), what)
