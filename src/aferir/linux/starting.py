"""Makes a new process recognisable until it executes its program.

Until then it has the environment of the process that made it, and so not the mark by which
`aferir.linux.undo` finds what belongs to a journal entry. If its maker is killed in that moment, it
executes its program all the same, when it gets a processor: after others have cleaned up.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator

_PR_SET_NAME, _PR_GET_NAME, _NAME_BYTES = 15, 16, 16
"""Options of prctl(2), and the length of a name with the zero at its end (TASK_COMM_LEN)."""
_NAME = b"aferir-starting"
_libc = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def named() -> Iterator[None]:
    """Give the calling thread the name that a child made in the block has until it executes."""
    before = ctypes.create_string_buffer(_NAME_BYTES)
    _libc.prctl(_PR_GET_NAME, before, 0, 0, 0)
    _libc.prctl(_PR_SET_NAME, _NAME, 0, 0, 0)
    try:
        yield
    finally:
        _libc.prctl(_PR_SET_NAME, before, 0, 0, 0)


def is_under_way(pid: int) -> bool:
    """Whether a process has still to execute its program, or is just executing it.

    In the middle of execve(2) a process has neither arguments nor environment. On a busy machine it
    may be there for long: it waits for a processor, or for the disk with its program.
    """
    try:
        if _content(f"/proc/{pid}/comm").rstrip(b"\n") == _NAME:
            return True
        os.readlink(f"/proc/{pid}/exe")  # noqa: PTH115 - fails for kernel threads and zombies
        return not _content(f"/proc/{pid}/cmdline")
    except OSError:  # it has ended, or is somebody else's
        return False


def _content(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - faster
        return file.read()
