"""Standard output and error that may go away at any moment without ending what is measured.

Whoever reads our output may leave (`aferir run … | head`), the terminal may hang up, the disk
behind `>` may be full, or there may be nothing at all behind a number (`>&-`). A write then says
nothing, and the command ends with its own exit code; `lost` tells what became of standard output.
"""

from __future__ import annotations

import errno
import io
import os
import select
import sys
from typing import Any, TextIO

_GONE = (errno.EPIPE, errno.EBADF)
"""Nobody wants to read it: that is the reader's own affair."""


class Lasting(io.FileIO):
    """A file descriptor that takes whatever is written, and forgets it once that fails."""

    def __init__(self, number: int) -> None:
        super().__init__(number, "wb", closefd=False)
        self.lost: OSError | None = None

    def write(self, content: Any, /) -> int:
        """All of it, waiting where the other side takes its time."""
        while self.lost is None:
            try:
                written = super().write(content)
            except OSError as reason:
                self.lost = reason
                break
            if written is not None:
                return written
            select.select([], [self], [])  # somebody has made it non-blocking
        return len(content)


def install() -> None:
    """Put such streams in the place of `sys.stdout` and `sys.stderr`, open ones whatever happened.

    A number that is closed would be given to the next file that is opened, and a library or a
    child that prints would write into that file.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
        os.set_inheritable(number, True)
    sys.stdout = _stream(1, sys.stdout)
    sys.stderr = _stream(2, sys.stderr)


def lost() -> OSError | None:
    """Why standard output could not be written, if it could not and somebody wanted to read it."""
    sys.stdout.flush()
    sys.stderr.flush()
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    reason = raw.lost if isinstance(raw, Lasting) else None
    return None if reason is None or reason.errno in _GONE else reason


def _stream(number: int, before: TextIO | None) -> TextIO:
    """A stream with the encoding that Python has found; what it lacks is written by its number."""
    raw = Lasting(number)
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=getattr(before, "encoding", None) or "utf-8",
        errors="backslashreplace",
        line_buffering=number == 2 or raw.isatty(),
    )
