"""Versions of other programs, from a file if possible, so that the programs need not be started.

mmdebstrap takes as long to tell its version as an agent takes to start, and QEMU half as long.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import zlib
from collections.abc import Sequence
from pathlib import Path

from aferir.errors import AferirError
from aferir.linux import journal, process
from aferir.machine import packages

_HEAD_BYTES = 4096
_SCRIPT = re.compile(rb"""^#!.*?\bVERSION\s*=\s*['"]([\w.~+-]+)['"]""", re.DOTALL)


def version(line: Sequence[str]) -> str:
    """First line that the program `line` prints, e.g. with `--version`; empty if not installed.

    What a program printed is remembered until its file changes. A script's version is read from
    its text.
    """
    path = shutil.which(line[0], path=packages.search_path())
    if path is None:
        return ""
    if told := of_script(_head(Path(path))):
        return f"{line[0]} {told}"
    kept = journal.cache_folder() / "versions" / _identity(Path(path))
    with contextlib.suppress(OSError):
        return kept.read_text(encoding="utf-8")
    try:
        done = process.run(list(line), timeout_s=60, check=False)
    except AferirError:
        return ""
    said = (done.stdout.splitlines() or [""])[0].strip()
    with contextlib.suppress(OSError):
        journal.write_durably(kept, said.encode())  # another process may read it meanwhile
    return said


def of_script(head: bytes) -> str:
    """Version that a script assigns to `VERSION` in its first lines; empty for other files."""
    found = _SCRIPT.match(head)
    return found[1].decode() if found else ""


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(_HEAD_BYTES)
    except OSError:
        return b""


def _identity(path: Path) -> str:
    """Name that changes with the file: its path, size and times of change."""
    there = path.stat()
    place = zlib.crc32(str(path.resolve()).encode())
    numbers = (place, there.st_size, there.st_mtime_ns, there.st_ctime_ns)
    return "-".join(f"{number:x}" for number in (*numbers, there.st_ino, there.st_dev))
