"""Waits for what a process writes to a folder, by events: the time is known to about 50 us.

Polling, as in `aferir.linux.wait`, has the resolution of its period, which is a tenth of the time
that a container takes to start.
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
"""Event masks of inotify(7), as in <sys/inotify.h>."""
_libc = ctypes.CDLL(None, use_errno=True)


def until(condition: Callable[[], bool], timeout_s: float, *, folder: Path, pid: int) -> bool:
    """Wait until `condition` holds; it is checked whenever something changes in `folder`.

    Returns False if the child process `pid` ends first, or after `timeout_s`. Errors: OSError if
    the folder does not exist.
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
    """Descriptor that is readable when a file in the folder is made or written (inotify(7))."""
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
    """Descriptor that is readable when a process has ended (pidfd_open(2))."""
    handle = os.pidfd_open(pid)
    try:
        yield handle
    finally:
        os.close(handle)


def _error(what: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number), what)
