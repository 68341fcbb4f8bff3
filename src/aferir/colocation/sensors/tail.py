"""Follows a log that grows, rotates, is truncated or does not exist yet; complete lines only."""

from __future__ import annotations

import os
import stat
from pathlib import Path

_MOST_A_LOOK = 4 << 20
"""Largest number of bytes read per call; the rest of a log that grows faster is read by later
calls.
"""
_A_READ = 1 << 16
"""Number of bytes per read: a buffer of more than 128 KiB would be mapped and unmapped for every
call.
"""
_LONGEST_LINE = 1 << 20
_MARK = 64
"""Number of bytes before the read position that are remembered, to detect that the file was
replaced in place.
"""


class Tail:
    """Lines that are added to a file after this object was created.

    Existing contents are ignored, unless the file is missing at first: then all it will hold is
    new. If the name refers to another inode, the log was rotated: the rest of the old file is read
    first. If the file is shorter than before, or the bytes before the read position have changed,
    it was truncated and is read from its start.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = -1
        self._inode = (0, 0)
        self._place = 0
        self._mark = b""
        self._rest = b""
        self._skips = False
        self.problem = ""
        """Reason why nothing can be read now; "" if there is none."""
        if self._open():
            self._place = os.fstat(self._file).st_size
            before = max(0, self._place - _MARK)
            self._mark = os.pread(self._file, self._place - before, before)

    def lines(self) -> list[bytes]:
        """Complete lines added since the last call, without line ends. Never blocks."""
        if self._file < 0 and not self._open():
            return []
        try:
            read = self._read()
            if len(read) < _MOST_A_LOOK and self._replaced():
                # The writer may have written to the old file until just now.
                read += self._read()
                self._leave()
                if self._open():
                    read += self._read()
        except OSError as error:
            self._leave()
            self.problem = f"{self._path}: {error.strerror}"
            return []
        return self._split(read)

    def close(self) -> None:
        """Close the file."""
        self._leave()

    def _open(self) -> bool:
        """Open the file at its start; returns False if it cannot be opened."""
        try:
            # Non-blocking, because opening a FIFO without a writer would block.
            file = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            self.problem = f"{self._path}: {error.strerror}"
            return False
        opened = os.fstat(file)
        if not stat.S_ISREG(opened.st_mode):
            os.close(file)
            self.problem = f"{self._path}: not a regular file"
            return False
        self._file, self._place, self._mark, self.problem = file, 0, b"", ""
        self._inode = (opened.st_dev, opened.st_ino)
        return True

    def _leave(self) -> None:
        if self._file >= 0:
            os.close(self._file)
        self._file, self._rest, self._skips = -1, b"", False

    def _replaced(self) -> bool:
        """Whether the path now refers to another file."""
        try:
            there = os.stat(self._path)  # noqa: PTH116 - a control period counts microseconds
        except FileNotFoundError:
            return False  # between the two steps of a rotation: the old file is still written to
        return (there.st_dev, there.st_ino) != self._inode

    def _begin_again(self) -> None:
        self._rest, self._skips = b"", False
        try:
            # A writer without O_APPEND continues at its old offset and leaves a hole before it.
            self._place = os.lseek(self._file, 0, os.SEEK_DATA)
        except OSError:  # nothing but a hole
            self._place = os.fstat(self._file).st_size
        self._mark = b""

    def _read(self) -> bytes:
        """Bytes added since the last call; everything from the start if earlier bytes have changed.

        One call reads both the bytes before the position and those after it.
        """
        known = len(self._mark)
        found = self._at(self._place - known)
        shorter = not found and os.fstat(self._file).st_size < self._place
        if shorter or not found.startswith(self._mark):
            self._begin_again()
            known = 0
            found = self._at(self._place)
        self._place += len(found) - known
        self._mark = found[-_MARK:]
        return found[known:]

    def _at(self, place: int) -> bytes:
        """Bytes from `place` to the end of the file, or as many as one call may read."""
        found = part = os.pread(self._file, _A_READ, place)
        while len(part) == _A_READ and len(found) < _MOST_A_LOOK:
            part = os.pread(self._file, _A_READ, place + len(found))
            found += part
        return found

    def _split(self, read: bytes) -> list[bytes]:
        whole = self._rest + read
        parts = whole.split(b"\n")
        self._rest = parts.pop()
        if self._skips and parts:
            parts.pop(0)  # the end of a line that was too long
            self._skips = False
        if len(self._rest) > _LONGEST_LINE:
            self._rest, self._skips = b"", True
        if len(whole) <= _LONGEST_LINE and not (b"\r" in whole or b"\0" in whole):
            return parts
        return [part.rstrip(b"\r").lstrip(b"\0") for part in parts if len(part) <= _LONGEST_LINE]
