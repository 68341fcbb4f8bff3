"""Messages on a connection: a length of four bytes, big-endian, followed by the content."""

from __future__ import annotations

import os
import select

from aferir.errors import ProgramError
from aferir.linux import wait

LONGEST = 64 * 2**20
"""Largest message in bytes; larger files are sent in pieces."""
_LENGTH_BYTES = 4
_PIECE = 2**18


class Silence(Exception):
    """Raised when nothing was received within the time limit."""


def write(descriptor: int, content: bytes) -> None:
    """Write one message. Errors: OSError if the other end is closed."""
    if len(content) > LONGEST:
        raise ProgramError(f"a message of {len(content)} bytes is too long for a line to a host")
    left = memoryview(len(content).to_bytes(_LENGTH_BYTES, "big") + content)
    while left:
        left = left[os.write(descriptor, left) :]


class Reader:
    """Reads a connection: lines of text at first, messages afterwards."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._coming = select.poll()  # select(2) knows no handles above 1023, as a fleet needs
        self._coming.register(descriptor, select.POLLIN)
        self._kept = bytearray()

    def line(self, silence_s: float) -> bytes | None:
        """Next line of text without its end; None if the connection is closed.

        What is longer than 256 KiB is no line, and is skipped. Errors: Silence if none ends
        within `silence_s`.
        """
        deadline_s = wait.after(silence_s)
        while b"\n" not in self._kept:
            if len(self._kept) > _PIECE:
                self._kept.clear()
            if not self._fill(wait.left_s(deadline_s)):
                return None
        line, _, rest = bytes(self._kept).partition(b"\n")
        self._kept = bytearray(rest)
        return line

    def message(self, silence_s: float) -> bytes | None:
        """Next message; None if the connection is closed, even within a message.

        Errors: Silence as of `line`, ProgramError if the data is no message.
        """
        head = self._take(_LENGTH_BYTES, silence_s)
        if head is None:
            return None
        length = int.from_bytes(head, "big")
        if length > LONGEST:
            raise ProgramError(
                "what comes over the line to a host is no message",
                remedy="see whether something there prints to standard output",
            )
        return self._take(length, silence_s)

    def has_ended(self) -> bool:
        """Whether the other end is closed; data that has arrived by now is discarded."""
        try:
            while self._fill(0.0):
                pass
        except Silence:
            return False
        return True

    def _take(self, count: int, silence_s: float) -> bytes | None:
        while len(self._kept) < count:
            if not self._fill(silence_s):
                return None
        taken = bytes(self._kept[:count])
        del self._kept[:count]
        return taken

    def _fill(self, silence_s: float) -> bool:
        """Wait for data; False if the connection is closed."""
        if not self._coming.poll(max(0.0, silence_s) * 1e3):
            raise Silence(f"nothing has come for {silence_s:.0f} s")
        piece = os.read(self._descriptor, _PIECE)
        self._kept += piece
        return bool(piece)
