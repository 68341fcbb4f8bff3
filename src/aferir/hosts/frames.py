"""Messages on a connection: a length of four bytes, big-endian, followed by the content."""

from __future__ import annotations

import os
import select

from aferir.errors import ProgramError
from aferir.linux import wait
from aferir.linux.running import TICK_S

LONGEST = 64 * 2**20
"""Largest message in bytes; larger files are sent in pieces."""
SILENCE_S = 15.0
"""Silence in s after which the other end is considered gone, whatever carries the connection."""
_LENGTH_BYTES = 4
_PIECE = 2**18
_AT_ONCE = 4096
"""Number of bytes that are written without waiting where poll(2) finds room (pipe(7), PIPE_BUF)."""


class Silence(Exception):
    """Raised when nothing was received, or nothing could be sent, within the time limit."""


def write(descriptor: int, content: bytes, silence_s: float = SILENCE_S) -> None:
    """Write one message. Errors: as of `send`; ProgramError if it is too long."""
    if len(content) > LONGEST:
        raise ProgramError(f"a message of {len(content)} bytes is too long for a line to a host")
    send(descriptor, len(content).to_bytes(_LENGTH_BYTES, "big") + content, silence_s)


def send(descriptor: int, content: bytes, silence_s: float) -> None:
    """Write all bytes, without waiting for ever where nobody reads them.

    Errors: OSError if the other end is closed, Silence if it reads nothing for `silence_s`.
    """
    room = select.poll()
    room.register(descriptor, select.POLLOUT)
    left = memoryview(content)
    while left:
        if not room.poll(silence_s * 1e3):
            raise Silence(f"nothing has been read for {silence_s:.0f} s")
        left = left[os.write(descriptor, left[:_AT_ONCE]) :]


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

        What has come of a message is kept if its rest has not: the next call goes on with it.
        Errors: Silence as of `line`, ProgramError if the data is no message.
        """
        if not self._filled(_LENGTH_BYTES, silence_s):
            return None
        length = int.from_bytes(self._kept[:_LENGTH_BYTES], "big")
        if length > LONGEST:
            raise ProgramError(
                "what comes over the line to a host is no message",
                remedy="see whether something there prints to standard output",
            )
        end = _LENGTH_BYTES + length
        if not self._filled(end, silence_s):
            return None
        content = bytes(self._kept[_LENGTH_BYTES:end])
        del self._kept[:end]
        return content

    def has_ended(self) -> bool:
        """Whether the other end is closed; data that has arrived by now is discarded."""
        try:
            while self._fill(0.0):
                pass
        except Silence:
            return False
        return True

    def _filled(self, count: int, silence_s: float) -> bool:
        """Wait until that many bytes are kept; False if the connection is closed before."""
        while len(self._kept) < count:
            if not self._fill(silence_s):
                return False
        return True

    def _fill(self, silence_s: float) -> bool:
        """Wait for data; False if the connection is closed.

        A second in which this machine stood still counts as one, however long it was: nobody could
        be heard in it.
        """
        left_s = max(0.0, silence_s)
        while not self._coming.poll(min(left_s, TICK_S) * 1e3):
            left_s -= TICK_S
            if left_s <= 0:
                raise Silence(f"nothing has come for {silence_s:.0f} s")
        piece = os.read(self._descriptor, _PIECE)
        self._kept += piece
        return bool(piece)
