"""Standard output and error that may fail at any time without ending a measurement.

The reader of our output may exit (`aferir run … | head`), the terminal may hang up, the disk behind
`>` may be full, or a descriptor may be closed (`>&-`). Writes then do nothing, and the command ends
with its own exit code; `lost` returns the error of standard output.
"""

from __future__ import annotations

import errno
import io
import os
import select
import sys
from typing import Any, TextIO

_GONE = (errno.EPIPE, errno.EBADF)
"""Errors of an output that no process reads any more; they are not reported."""


class Lasting(io.FileIO):
    """A file descriptor that accepts all writes, but discards them after one has failed."""

    def __init__(self, number: int) -> None:
        super().__init__(number, "wb", closefd=False)
        self.lost: OSError | None = None

    def write(self, content: Any, /) -> int:
        """Write the whole content, and block if the reader is slow."""
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
    """Make `sys.stdout` and `sys.stderr` streams that never fail; open closed descriptors.

    A closed descriptor would be reused for the next file that is opened, and a library or a child
    that prints would write into that file.
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
    """Error of standard output, unless its reader has exited; None without an error."""
    sys.stdout.flush()
    sys.stderr.flush()
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    reason = raw.lost if isinstance(raw, Lasting) else None
    return None if reason is None or reason.errno in _GONE else reason


def _stream(number: int, before: TextIO | None) -> TextIO:
    """Text stream in Python's encoding; characters outside of that encoding are escaped."""
    raw = Lasting(number)
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=getattr(before, "encoding", None) or "utf-8",
        errors="backslashreplace",
        line_buffering=number == 2 or raw.isatty(),
    )
