"""Packs a command's files into one archive that is unpacked for each repetition."""

from __future__ import annotations

import hashlib
import os
import tarfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from aferir.errors import MissingError, UsageError
from aferir.linux import journal

MOST_BYTES = 2**30
"""Largest total size of the files in bytes, as they are copied for every repetition."""
_KEPT = 20
"""Number of archives, the most recently used, that always stay in the cache."""
_IN_USE_S = 7 * 86400.0
"""Time in s for which any other archive stays after its last request: a run that still copies it
for each repetition does not update the time.
"""


def placed(files: Sequence[str]) -> dict[str, str]:
    """Map each file or folder, as it was named, to its path in the working folder.

    A relative path is kept; of an absolute path or one that begins with `..`, only the last part
    is. Errors: UsageError if two would have the same path.
    """
    found: dict[str, str] = {}
    for name in files:
        path = PurePosixPath(os.path.normpath(name))
        elsewhere = path.is_absolute() or path.parts[:1] == ("..",)
        target = path.name if elsewhere else str(path)
        if target in found.values():
            raise UsageError(
                f"two of the files would be `{target}` in the working folder",
                remedy="rename one, or name the folder that holds both",
            )
        found[name] = target
    return found


def archive(files: Sequence[str]) -> Path:
    """A tar file of `files` in the cache, reused as long as they do not change.

    Errors: UsageError if a file does not exist or they are too large, MissingError if the cache is
    not writable.
    """
    members = list(_members(placed(files)))
    name = f"command-{_digest(members)}.tar"
    folder = journal.cache_folder() / "programs"
    path = folder / name
    if path.is_file():
        path.touch()  # it was used last
        return path
    half = folder / f"{name}.{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tarfile.open(half, "w", format=tarfile.PAX_FORMAT) as tar:
            for source, target in members:
                tar.add(source, target, recursive=False, filter=_anonymous)
        half.replace(path)
        _prune(folder)
    except OSError as error:
        half.unlink(missing_ok=True)
        raise MissingError(
            f"the files cannot be packed into {path}: {error}",
            remedy="name a folder with room that you may write to in AFERIR_CACHE",
        ) from None
    return path


def _members(placed: dict[str, str]) -> Iterator[tuple[Path, str]]:
    """Every file and folder with its name in the archive, in a fixed order."""
    total = 0
    for name, target in placed.items():
        top = Path(name)
        if not (top.exists() or top.is_symlink()):
            raise UsageError(
                f"there is no file {name} to be taken along",
                remedy="name it as seen from the folder that aferir is run in",
            )
        paths = [top]
        if top.is_dir():
            paths += sorted(path for path in top.rglob("*"))
        for path in paths:
            if not (path.is_file() or path.is_dir() or path.is_symlink()):
                continue  # sockets, pipes and devices stay
            total += path.lstat().st_size
            if total > MOST_BYTES:
                raise UsageError(
                    f"the files to be taken along are larger than {MOST_BYTES >> 30} GiB",
                    remedy="name only those that the program reads, or let `prepare` make them",
                )
            yield path, os.path.normpath(target / path.relative_to(top))


def _digest(members: Sequence[tuple[Path, str]]) -> str:
    digest = hashlib.sha256()
    for source, target in members:
        found = source.lstat()
        digest.update(os.fsencode(target))  # which need not be text
        digest.update(f"\0{found.st_mode}\0{found.st_size}\0{found.st_mtime_ns}\0".encode())
        if source.is_symlink():
            digest.update(os.fsencode(source.readlink()))
        elif source.is_file():
            with source.open("rb") as content:
                digest.update(hashlib.file_digest(content, "sha256").digest())
    return digest.hexdigest()[:16]


def _anonymous(info: tarfile.TarInfo) -> tarfile.TarInfo:
    """Remove the owner, so that the file will belong to the user who unpacks it."""
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    return info


def _prune(folder: Path) -> None:
    """Remove archives that no run can still need, except the most recently used ones."""
    used = sorted((path.stat().st_mtime, path) for path in folder.glob("command-*.tar"))
    oldest_s = time.time() - _IN_USE_S
    for used_s, path in used[:-_KEPT]:
        if used_s < oldest_s:
            path.unlink(missing_ok=True)
