"""Where clusters are remembered, and who may change one at a time.

One folder for each, <state>/clusters/NAME:

    cluster.json     what exists; the journal keeps whatever it names (see `journal.write`)
    entry            the id of its entry in the journal
    config/          mounted by all nodes, read-only
    home/            mounted by all nodes as /home
    disks/NODE/      what a node with a disk has written
    image/           the userland of a loaded cluster; others share the cached one
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from aferir.cluster.description import State
from aferir.errors import UsageError
from aferir.linux import journal, umask, undo

_OWNER = "entry"


def folder(name: str) -> Path:
    """Everything of that cluster that is kept on the disk."""
    return journal.state_folder() / "clusters" / name


def state_file(name: str) -> Path:
    """What the journal's entries of a cluster are kept by."""
    return folder(name) / "cluster.json"


def write(state: State) -> None:
    """Replace what is remembered of a cluster, in one step."""
    path = state_file(state.description.name)
    journal.write_durably(path, msgspec.json.format(msgspec.json.encode(state)))


def find(name: str) -> State | None:
    """What is remembered of that cluster; None where it does not exist, or not yet."""
    try:
        return msgspec.json.decode(state_file(name).read_bytes(), type=State)
    except (OSError, msgspec.DecodeError):
        return None


def read(name: str) -> State:
    """What is remembered of that cluster. Errors: UsageError where there is none."""
    found = find(name)
    if found is None:
        raise UsageError(
            f"there is no cluster `{name}`", remedy="`aferir cluster list` tells which there are"
        )
    return found


def names() -> list[str]:
    """All clusters that exist."""
    return sorted(path.parent.name for path in folder("x").parent.glob("*/cluster.json"))


@contextmanager
def claimed(name: str, entry: journal.Entry) -> Iterator[Path]:
    """Make the folder of a new cluster, whose journal's entry is written, and hold it.

    It is born under a name of its own and renamed, so that a kill at any moment leaves either
    nothing under the cluster's name or a folder that says whose it is.
    Errors: UsageError where a cluster of that name exists, or is being made.
    """
    path = folder(name)
    unborn = _unborn(entry)
    umask.everybody_reads()
    unborn.mkdir(parents=True)
    (unborn / _OWNER).write_text(entry.id, encoding="ascii")
    with _held(unborn):
        try:
            unborn.rename(path)
        except OSError:
            undo.remove_tree(unborn)
            raise UsageError(
                f"there is a cluster `{name}` already",
                remedy=f"aferir cluster destroy {name}, or choose another name; "
                "`aferir clean` removes what a killed command left",
            ) from None
        yield path


def owned(name: str, entry: journal.Entry) -> bool:
    """Whether the folder of that name is that of this entry."""
    try:
        return (folder(name) / _OWNER).read_text(encoding="ascii") == entry.id
    except OSError:
        return False


def remove(name: str, entry: journal.Entry) -> None:
    """Remove the cluster's folder, however much of it there is."""
    undo.remove_tree(_unborn(entry))
    if owned(name, entry):
        undo.remove_tree(folder(name))


def _unborn(entry: journal.Entry) -> Path:
    return folder(f".aferir-{entry.id}")


@contextmanager
def locked(name: str) -> Iterator[State]:
    """Hold the cluster: whoever else wants to change it waits. Its state, read under the lock.

    Errors: UsageError where there is none.
    """
    path = folder(name)
    if not path.is_dir():
        read(name)
    with _held(path):
        yield read(name)


@contextmanager
def _held(path: Path) -> Iterator[None]:
    """An flock(2) on the folder itself leaves nothing behind."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        raise UsageError(f"there is no cluster `{path.name}`") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
