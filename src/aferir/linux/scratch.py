"""Folders on the host's own disk, which go away with the run."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from aferir.errors import MissingError
from aferir.linux import journal, undo
from aferir.model.plan import SCRATCH

KIND = "scratch"


def folder_of(entry: journal.Entry) -> Path:
    """The folder that a journal's entry announces."""
    return Path(entry.details["base"]) / f"aferir-{entry.id}"


@contextlib.contextmanager
def private(environment: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """The variables of a run whose processes are to be found by their mark.

    Where the program wants a folder (`SCRATCH`) it gets one of its own below that. In the end the
    folder is gone, and so is every process that still carries the mark, and so may write there.
    Errors: MissingError where no folder can be made there.
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
    """A new one in `base`, or where temporary files are, removed in the end or by cleaning."""
    entry = journal.write(KIND, {"base": str(base or tempfile.gettempdir())})
    made = folder_of(entry)
    try:
        made.mkdir()
        made.chmod(mode)
        yield made
    finally:
        undo.remove_tree(made)
        journal.erase(entry)


def give_back(entry: journal.Entry) -> None:
    """Kill what still writes there, remove the folder and erase the entry.

    Errors: OSError where something stays; the entry stays too then.
    """
    undo.kill_marked(entry.id)
    undo.remove_tree(folder_of(entry))
    journal.erase(entry)
