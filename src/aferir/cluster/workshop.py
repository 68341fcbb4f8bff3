"""A folder to build something large in, which is gone afterwards, come what may."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from aferir.errors import UsageError
from aferir.linux import journal, undo

KIND = "workshop"


class Workshop(msgspec.Struct, frozen=True):
    """The folder, and the mark for children that work in it."""

    folder: Path
    mark: str


@contextmanager
def workshop(parent: Path) -> Iterator[Workshop]:
    """Make one below `parent`, so that what is built there can be renamed out of it.

    Errors: UsageError where `parent` cannot be written to.
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
    """Remove it with all that is in it or mounted there; again is harmless."""
    undo.kill_marked(entry.id)
    undo.remove_tree(_folder(entry))
    journal.erase(entry)


def _folder(entry: journal.Entry) -> Path:
    return Path(entry.details["parent"]) / f".aferir-{entry.id}"
