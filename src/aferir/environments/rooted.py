"""Opens files of an instance's tree from the host without leaving that tree.

A symbolic link in the tree is under the instance's control: `/etc -> /../../etc` must lead to the
tree's own /etc. openat2(2) with RESOLVE_IN_ROOT (Linux 5.6) resolves paths as chroot(2) would.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import stat
from pathlib import Path, PurePosixPath
from typing import Self

from aferir.errors import ProgramError

_OPENAT2 = 437
"""System call number, the same on every architecture (as all since Linux 5.1)."""
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_IN_ROOT = 0x10
_libc = ctypes.CDLL(None, use_errno=True)


class _OpenHow(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


def put(root: Path, source: Path, destination: PurePosixPath) -> None:
    """Copy a host file into the tree, preserving its mode and creating missing folders.

    Errors: ProgramError if the tree does not permit it.
    """
    try:
        with source.open("rb") as content, _Root(root) as tree:
            folder = tree.make_folders(destination.parent)
            os.close(folder)
            mode = stat.S_IMODE(os.fstat(content.fileno()).st_mode)
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            with os.fdopen(tree.open(destination, flags, mode), "wb") as copy:
                shutil.copyfileobj(content, copy, 1 << 20)
                os.fchmod(copy.fileno(), mode)
    except OSError as error:
        raise ProgramError(f"{source} cannot be put to {destination}: {error.strerror}") from None


def get(root: Path, source: PurePosixPath, destination: Path) -> None:
    """Copy a file of the tree to the host.

    Errors: ProgramError if it does not exist or is not a regular file.
    """
    try:
        with _Root(root) as tree:
            # O_NONBLOCK: opening a FIFO without a writer would block.
            handle = tree.open(source, os.O_RDONLY | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as content:
            if not stat.S_ISREG(os.fstat(content.fileno()).st_mode):
                raise ProgramError(f"{source} in the instance is no ordinary file")
            destination.parent.mkdir(parents=True, exist_ok=True)
            with destination.open("wb") as copy:
                shutil.copyfileobj(content, copy, 1 << 20)
    except OSError as error:
        raise ProgramError(f"{source} cannot be got: {error.strerror}") from None


def made(root: Path, folder: PurePosixPath) -> Path:
    """Path on the host of a folder of the tree, created if missing. Errors: OSError."""
    with _Root(root) as tree:
        handle = tree.make_folders(folder)
    try:
        return Path(f"/proc/self/fd/{handle}").readlink()
    finally:
        os.close(handle)


class _Root:
    """A folder that acts as root when paths below it are resolved."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def __enter__(self) -> Self:
        self._handle = os.open(self._root, os.O_PATH | os.O_DIRECTORY)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._handle)

    def open(self, path: PurePosixPath, flags: int, mode: int = 0) -> int:
        """Resolve a path within this root and return its open descriptor; `flags` are O_*.

        Errors: OSError.
        """
        how = _OpenHow(flags | os.O_CLOEXEC, mode, _RESOLVE_IN_ROOT | _RESOLVE_NO_MAGICLINKS)
        handle = _libc.syscall(
            ctypes.c_long(_OPENAT2),
            self._handle,
            os.fsencode(str(path)),
            ctypes.byref(how),
            ctypes.c_size_t(ctypes.sizeof(how)),
        )
        if handle < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(path))
        return int(handle)

    def make_folders(self, path: PurePosixPath) -> int:
        """Open a folder, creating missing ones; the caller closes it."""
        try:
            return self.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            parent = self.make_folders(path.parent)
        try:
            os.mkdir(path.name, 0o755, dir_fd=parent)
        finally:
            os.close(parent)
        return self.open(path, os.O_RDONLY | os.O_DIRECTORY)
