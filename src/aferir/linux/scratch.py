"""Scratch folders on the host's disk, which are removed after the run."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from aferir.errors import MissingError, RefusedError
from aferir.linux import journal, undo
from aferir.model.plan import SCRATCH

KIND = "scratch"


def folder_of(entry: journal.Entry) -> Path:
    """Scratch folder that a journal entry describes."""
    return Path(entry.details["base"]) / f"aferir-{entry.id}"


@contextlib.contextmanager
def private(environment: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Environment variables of a run whose processes are found by their mark.

    If the program requests a scratch folder (`SCRATCH`), it gets its own subfolder. Afterwards the
    folder is removed, and every process that still has the mark is killed, since it may write
    there. Errors: MissingError if no folder can be made there.
    """
    base = environment.get(SCRATCH)
    if base is None:
        yield dict(environment)
        return
    entry = journal.write(KIND, {"base": base})
    try:
        try:
            folder_of(entry).mkdir(mode=0o700)
        except OSError as error:
            raise MissingError(
                f"no files can be put into {base}: {error.strerror}",
                remedy="name a folder on a disk with room as the workload's `folder`",
            ) from None
        yield {**environment, SCRATCH: str(folder_of(entry)), undo.MARK: entry.id}
    finally:
        give_back(entry)


@contextlib.contextmanager
def folder(mode: int = 0o700, base: Path | None = None) -> Iterator[Path]:
    """A new folder in `base` or the temporary folder; removed afterwards, or by cleaning."""
    if base is None:
        import tempfile

        base = Path(tempfile.gettempdir())
    entry = journal.write(KIND, {"base": str(base)})
    made = folder_of(entry)
    try:
        made.mkdir()
        made.chmod(mode)
        yield made
    finally:
        undo.remove_tree(made)
        journal.erase(entry)


def require_open(path: Path) -> None:
    """Check that programs that root starts as another user can reach `path`.

    Errors: RefusedError if a folder above it is closed to others, as that of mkdtemp(3) is.
    """
    if os.geteuid() != 0:
        return
    for above in reversed(path.absolute().parents):
        if not above.stat().st_mode & stat.S_IXOTH:
            raise RefusedError(
                f"a program that runs as another user than root cannot reach {path}: "
                f"{above} is closed to others",
                remedy="set TMPDIR to a folder that others may enter, e.g. /var/tmp",
            )


def give_back(entry: journal.Entry) -> None:
    """Kill the processes that use the folder, remove it and erase the entry.

    Errors: OSError if something is left; then the entry is left too.
    """
    undo.kill_marked(entry.id)
    undo.remove_tree(folder_of(entry))
    journal.erase(entry)
