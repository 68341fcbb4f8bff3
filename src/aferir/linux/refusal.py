"""Turns refusals of the operating system into errors that name the file and a remedy.

A full disk, missing permissions, a limit of the shell: none is an error of aferir, and each may
occur in many places. The numbers are those of errno(3).
"""

from __future__ import annotations

import errno
import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aferir.errors import RefusedError

ELSEWHERE = "name a folder that you may write in"
_ROOM = "make room on that disk"
_REMEDIES = {
    errno.EACCES: ELSEWHERE,
    errno.EPERM: ELSEWHERE,
    errno.EROFS: "that file system is mounted read-only: name a folder on another one",
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: "make room: your quota on that disk is used up",
    errno.EFBIG: "raise the limit of a file's size (`ulimit -f unlimited`), or use another disk",
    errno.EMFILE: "raise the limit of open files (`ulimit -n 1024`)",
    errno.ENFILE: "the whole machine has too many files open: end what else runs here",
    errno.ENOMEM: "end what else uses the memory, or raise its limit",
    errno.EAGAIN: "raise the limit of processes (`ulimit -u`), or end what else runs here",
    errno.EIO: "the disk fails, or the connection to it: see `dmesg`",
    errno.ENOENT: "make that folder, or name another",
    errno.ENOTDIR: "a part of that path is a file: name a folder",
    errno.EISDIR: "that is a folder: name a file",
    errno.EEXIST: "something of that name is there already: name another",
    errno.ELOOP: "its links lead in a circle: name another",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.EBUSY: "something else uses it: wait, or name another",
    errno.ENOLCK: "that file system knows no locks: name a folder on a local disk",
    errno.ESTALE: "the server of that file system has lost it: mount it again",
    errno.ENODEV: "the device is not there any more",
    errno.ENXIO: "the device is not there any more",
}


def is_refusal(reason: OSError) -> bool:
    """True if the operating system refused something; False if the call itself was wrong."""
    return reason.errno in _REMEDIES


def is_exhausted(reason: OSError) -> bool:
    """True if this process may have no more files, processes or memory, whatever it asks for."""
    return reason.errno in (errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM)


def refused(
    reason: OSError, path: Path | str | None = None, act: str = "used", *, remedy: str = ""
) -> RefusedError:
    """Error `PATH cannot be ACT: why`, with the remedy of its errno unless one is given.

    Without `path` it is the file that the exception names.
    """
    named = path if path is not None else reason.filename
    said = reason.strerror or str(reason)
    message = f"{named} cannot be {act}: {said}" if named is not None else said
    if reason.errno in (errno.EACCES, errno.EPERM) and named is not None:
        message += owner_of(Path(os.fsdecode(named)))
    if named is None and "temporary directory" in said:  # tempfile's own words
        remedy = remedy or "set TMPDIR to a folder that you may write in"
    return RefusedError(message, remedy=remedy or _REMEDIES.get(reason.errno or 0, ""))


def owner_of(path: Path) -> str:
    """Owner of the file, or of its nearest existing parent, in brackets; empty if it is us."""
    for place in (path, *path.absolute().parents):
        try:
            owner = place.stat().st_uid
        except OSError:
            continue
        if owner == os.geteuid():
            return ""
        try:
            name = pwd.getpwuid(owner).pw_name
        except KeyError:
            name = f"user {owner}"
        return f" ({place} belongs to {name})"
    return ""


@contextmanager
def refusals(path: Path | str, act: str, *, remedy: str = "") -> Iterator[None]:
    """Within the block, turn refusals of the operating system into errors about `path`."""
    try:
        yield
    except OSError as reason:
        raise refused(reason, path, act, remedy=remedy) from reason


def home() -> Path:
    """Home folder of the user. Errors: RefusedError if neither HOME nor an account names one."""
    try:
        return Path.home()
    except RuntimeError:
        raise RefusedError(
            f"there is no home folder: HOME is not set, and user {os.getuid()} has no account",
            remedy="set HOME, or AFERIR_STATE and AFERIR_CACHE, to folders that you may write in",
        ) from None


def expanded(path: str) -> Path:
    """A path with `~` expanded; unchanged if there is no home folder.

    Use it for files that may be missing; to write a file, use `home`.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)
