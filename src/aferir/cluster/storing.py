"""Stores the state of clusters, and locks each while it is changed.

Each cluster has one folder, <state>/clusters/NAME:

    cluster.json     the state; the journal keeps whatever it names (see `journal.write`)
    entry            the ID of the cluster's journal entry
    config/          mounted by all nodes, read-only
    home/            mounted by all nodes as /home
    disks/NODE/      what a node with a disk has written
    image/           the userland of a loaded cluster; others share the cached one
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from aferir.cluster.description import State
from aferir.errors import UsageError
from aferir.linux import journal, lock, umask, undo

_OWNER = "entry"


def folder(name: str) -> Path:
    """Folder of all files of the cluster `name`."""
    return journal.state_folder() / "clusters" / name


def state_file(name: str) -> Path:
    """State file of a cluster, whose journal entries are kept as long as this file exists."""
    return folder(name) / "cluster.json"


def write(state: State) -> None:
    """Replace the stored state of a cluster atomically."""
    path = state_file(state.description.name)
    journal.write_durably(path, msgspec.json.format(msgspec.json.encode(state)))


def find(name: str) -> State | None:
    """Stored state of the cluster `name`; None if it does not exist, or not yet."""
    try:
        return msgspec.json.decode(state_file(name).read_bytes(), type=State)
    except (OSError, msgspec.DecodeError):
        return None


def read(name: str) -> State:
    """Stored state of the cluster `name`. Errors: UsageError if it does not exist."""
    found = find(name)
    if found is None:
        raise _unknown(name)
    return found


def _unknown(name: str) -> UsageError:
    """Error of a cluster that does not exist."""
    return UsageError(
        f"there is no cluster `{name}`", remedy="`aferir cluster list` tells which there are"
    )


def names() -> list[str]:
    """Names of all clusters."""
    return sorted(path.parent.name for path in folder("x").parent.glob("*/cluster.json"))


@contextmanager
def claimed(name: str, entry: journal.Entry) -> Iterator[Path]:
    """Create the folder of a new cluster, after its journal entry was written, and lock it.

    The folder is created under a temporary name and renamed, so that a kill at any time leaves
    either nothing under the cluster's name, or a folder that names its entry. Errors: UsageError if
    a cluster of that name exists, or is being created.
    """
    path = folder(name)
    unborn = _unborn(entry)
    umask.everybody_reads()
    unborn.mkdir(parents=True)
    (unborn / _OWNER).write_text(entry.id, encoding="ascii")
    with lock.held(unborn):
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
    """Whether the folder of the cluster `name` belongs to the journal entry `entry`."""
    try:
        return (folder(name) / _OWNER).read_text(encoding="ascii") == entry.id
    except OSError:
        return False


def remove(name: str, entry: journal.Entry) -> None:
    """Remove the cluster's folder, or what exists of it."""
    undo.remove_tree(_unborn(entry))
    if owned(name, entry):
        undo.remove_tree(folder(name))


def _unborn(entry: journal.Entry) -> Path:
    return folder(f".aferir-{entry.id}")


@contextmanager
def locked(name: str) -> Iterator[State]:
    """Lock the cluster against concurrent changes; yields its state, read under the lock.

    Errors: UsageError if it does not exist.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(lock.held(folder(name)))
        except FileNotFoundError:
            raise _unknown(name) from None
        yield read(name)
