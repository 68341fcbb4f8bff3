"""Error output of the command that reaches a host, which a thread reads."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from typing import IO

_PIECE = 2**12
"""Largest number of bytes of error output to read at once, and to keep of one line."""
_LINES = 50
"""Number of last lines of error output to keep."""
_LAST_WORDS_S = 0.05
"""Time in s to wait for error output of the command if it still runs."""
_ENDING_S = 3.0
"""Time in s to wait for a host that closed its output to end, and for its last error output."""


class Hearing:
    """Reads the error output until all processes that hold it have ended."""

    def __init__(self, child: subprocess.Popen[str]) -> None:
        """Read `child.stderr` from now on in a thread, which alone closes it."""
        errors, child.stderr = child.stderr, None
        assert errors is not None
        self.lines: list[str] = []
        """Last lines so far."""
        self._child = child
        self._thread = threading.Thread(target=self._read, args=(errors,), daemon=True)
        self._thread.start()

    def last_lines(self, *, ends: bool) -> list[str]:
        """Last lines; of a command that has ended the last ones of all.

        With `ends`, its end is waited for as well: its output was closed, and the reason follows.
        """
        if ends:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(_ENDING_S)
        self._thread.join(_LAST_WORDS_S if self._child.poll() is None else _ENDING_S)
        return self.lines

    def _read(self, errors: IO[str]) -> None:
        """Read, in a thread, until all processes that hold the error output open have ended."""
        rest = b""
        with errors:  # read without a buffer, whose lock would outlive us where we exit first
            while content := os.read(errors.fileno(), _PIECE):
                *lines, rest = (rest + content).split(b"\n")
                self.lines = [*self.lines, *map(_text, lines)][-_LINES:]
                rest = rest[-_PIECE:]
        self.lines = [*self.lines, *([_text(rest)] if rest else [])]


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace")
