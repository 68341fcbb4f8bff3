"""A temporary folder for large files, which is removed afterwards in any case."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from aferir.errors import UsageError
from aferir.linux import journal, undo

KIND = "workshop"


class Workshop(msgspec.Struct, frozen=True):
    """The folder, and the mark by which child processes that work in it are found."""

    folder: Path
    mark: str


@contextmanager
def workshop(parent: Path) -> Iterator[Workshop]:
    """Create a workshop below `parent`, so that results can be renamed out of it.

    Errors: UsageError if `parent` is not writable.
    """
    entry = journal.write(KIND, {"parent": str(parent.absolute())})
    try:
        try:
            _folder(entry).mkdir(mode=0o700)
        except OSError as error:
            raise UsageError(f"{parent} cannot be written to: {error.strerror}") from None
        yield Workshop(_folder(entry), entry.id)
    finally:
        give_back(entry)


def give_back(entry: journal.Entry) -> None:
    """Remove a workshop with its contents and mounts; may be repeated."""
    undo.kill_marked(entry.id)
    undo.remove_tree(_folder(entry))
    journal.erase(entry)


def _folder(entry: journal.Entry) -> Path:
    return Path(entry.details["parent"]) / f".aferir-{entry.id}"
