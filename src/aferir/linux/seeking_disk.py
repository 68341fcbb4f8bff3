"""A file as slow as a rotating disk if a request does not begin where the last one ended.

nbdkit serves the file, with the plugin `seeking_plugin` that waits for seeks, and nbdfuse (part of
libnbd) shows the served disk as a file again, for a loop device. FUSE keeps no page cache of it
(direct I/O). No kernel module and no device mapper is needed, which many kernels lack.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from functools import partial
from pathlib import Path

from aferir.errors import MissingError, ProgramError
from aferir.linux import process, running, seeking_plugin, undo, wait
from aferir.linux.journal import Entry

_PROGRAMS = ("nbdkit", "nbdfuse")
_START_S = 60.0
_DETACHED = 'log=$1; shift; setsid "$@" > "$log" 2>&1 < /dev/null & echo $!'


def shown(file: Path) -> Path:
    """Path of the file as nbdfuse shows it."""
    return _mount(file) / "disk"


def serve(entry: Entry, file: Path, seek_s: float) -> Path:
    """Serve the file with seeks of `seek_s` until `give_back`; returns `shown(file)`.

    Errors: MissingError without nbdkit or nbdfuse, ProgramError if they do not start.
    """
    if any(shutil.which(name) is None for name in _PROGRAMS):
        raise MissingError(
            "a disk that seeks takes nbdkit with Python, and nbdfuse",
            remedy="apt-get install nbdkit nbdkit-plugin-python libnbd-bin",
        )
    _mount(file).mkdir(parents=True)
    log = file.with_suffix(".log")
    plugin = Path(seeking_plugin.__file__)
    server = ("nbdkit", "-s", "--exit-with-parent", "python", str(plugin))
    started = process.run(
        ["sh", "-c", _DETACHED, "sh", str(log), "nbdfuse", str(shown(file)), "--command", *server],
        environment={
            undo.MARK: entry.id,
            seeking_plugin.FILE: str(file),
            seeking_plugin.SEEK: str(seek_s),
            seeking_plugin.OVER: str(_over(file)),
        },
        timeout_s=_START_S,
    )
    # Unlike Path's, this says of what is mounted no more that it is not there.
    is_shown = partial(os.path.exists, shown(file))
    has_ended = partial(running.has_ended, int(started.stdout))
    wait.until(lambda: is_shown() or has_ended(), wait.after(_START_S))
    if not is_shown():
        last = log.read_text(encoding="utf-8", errors="replace").splitlines()[-1:]
        raise ProgramError(f"nbdfuse did not start: {' '.join(last) or 'it said nothing'}")
    return shown(file)


def hurry(file: Path) -> None:
    """End all seeks, so that data is written back at full speed after the measurement."""
    if _folder(file).exists():
        _over(file).touch()


def give_back(entry: Entry, file: Path) -> None:
    """Unmount `shown(file)`, kill its server and remove their files, if any; `file` itself stays.

    Errors: OSError if the mount remains.
    """
    if not _folder(file).exists():
        return
    undo.remove_tree(_folder(file))
    undo.kill_marked(entry.id)
    for path in (_over(file), file.with_suffix(".log")):
        with contextlib.suppress(FileNotFoundError):
            path.unlink()


def _folder(file: Path) -> Path:
    return file.with_suffix(".seeks")


def _mount(file: Path) -> Path:
    """Mount point of nbdfuse; once its server has died, only the folder above can be inspected."""
    return _folder(file) / "mount"


def _over(file: Path) -> Path:
    return file.with_suffix(".over")
