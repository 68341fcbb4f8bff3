"""Plugin of nbdkit: a file as a disk that waits for a seek unless a request follows the last one.

nbdkit runs this file in a Python of its own (nbdkit-python-plugin(3)), so it imports nothing of
aferir. Without a `thread_model`, nbdkit hands such a plugin one request at a time, so seeks follow
one another. Environment variables name the file, the seconds of a seek, and a second file that ends
all seeks once it exists: after a measurement, data is written back at full speed.
"""

from __future__ import annotations

import os
import time

API_VERSION = 2
FILE, SEEK, OVER = "AFERIR_DISK_FILE", "AFERIR_DISK_SEEK_S", "AFERIR_DISK_OVER"


class Disk:
    """An open file, and the position of the disk's head in it."""

    def __init__(self, path: str, seek_s: float, over: str) -> None:
        self.descriptor = os.open(path, os.O_RDWR)
        self.size = os.fstat(self.descriptor).st_size
        self._seek_s = seek_s
        self._over = over
        self._head = 0

    def reach(self, offset: int, length: int) -> float:
        """Move the head to the end of the request; returns the seconds of the seek before it."""
        there = offset == self._head
        self._head = offset + length
        # No Path, which each request would have to make.
        return 0.0 if there or os.path.exists(self._over) else self._seek_s  # noqa: PTH110


def open(_readonly: bool) -> Disk:
    """Open the disk that the environment names."""
    return Disk(os.environ[FILE], float(os.environ[SEEK]), os.environ[OVER])


def get_size(disk: Disk) -> int:
    """Size of the disk in bytes."""
    return disk.size


def pread(disk: Disk, buffer: bytearray, offset: int, _flags: int) -> None:
    """Read from the disk into the buffer, after a seek if one is needed."""
    time.sleep(disk.reach(offset, len(buffer)))
    os.preadv(disk.descriptor, [buffer], offset)


def pwrite(disk: Disk, buffer: bytes, offset: int, _flags: int) -> None:
    """Write the buffer to the disk, after a seek if one is needed."""
    time.sleep(disk.reach(offset, len(buffer)))
    os.pwrite(disk.descriptor, buffer, offset)


def flush(disk: Disk, _flags: int) -> None:
    """Write the file's modified pages from the host's page cache to the host's disk."""
    os.fdatasync(disk.descriptor)
