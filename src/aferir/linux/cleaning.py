"""Undoing what was journalled and did not live to be given back."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from aferir.linux import (
    cgroup,
    journal,
    limited_disk,
    namespace,
    pages,
    scratch,
    undo,
    wait,
    worktrees,
)
from aferir.linux.journal import Entry

Cleaner = Callable[[Entry], None]
"""Removes what an entry announces, then erases the entry.

It is harmless to repeat, and where nothing or only half of it was made. Errors: any, where
something stays; the entry stays too then.
"""


def clean(entries: Sequence[Entry], cleaners: Mapping[str, Cleaner]) -> list[str]:
    """Undo each entry and erase it; what could not be undone, one sentence each.

    `cleaners` are by the kind of entry, in the order in which they are called: what stands on
    another thing is removed before it. Entries of kinds that have none stay, and so does an entry
    that could not be undone.
    """
    problems = []
    places = {kind: place for place, kind in enumerate(cleaners)}
    known = (entry for entry in entries if entry.kind in places)
    for entry in sorted(known, key=lambda one: places[one.kind]):
        try:
            cleaners[entry.kind](entry)
        except Exception as error:  # noqa: BLE001 - one that fails must not keep the others
            problems.append(f"could not remove {entry.kind} {entry.id}: {error}")
    return problems


def remove_process(entry: Entry) -> None:
    """End one process, by its number and its start time, terminated first and killed then."""
    pid = int(entry.details["pid"])
    started = int(entry.details["started"])

    def gone() -> bool:
        return journal.start_time(pid) != started or entry.boot_id != journal.boot_id()

    for number in (signal.SIGTERM, signal.SIGKILL):
        if gone():
            break
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        wait.until(gone, wait.after(2.0))
    journal.erase(entry)


def remove_marked_folder(entry: Entry, folder: Path) -> None:
    """Kill whoever works for that entry, then remove the folder and what is mounted in it."""
    undo.kill_marked(entry.id)
    undo.remove_tree(folder)
    journal.erase(entry)


def _remove_cgroup(entry: Entry) -> None:
    cgroup.remove(f"aferir-{entry.id}", cgroup.layout())
    journal.erase(entry)


def _remove_mount(entry: Entry) -> None:
    """Unmount, and remove the empty folder it was mounted on."""
    undo.unmount(Path(entry.details["folder"]))
    with contextlib.suppress(OSError):
        Path(entry.details["folder"]).rmdir()
    journal.erase(entry)


LINUX: Mapping[str, Cleaner] = {
    "process": remove_process,
    namespace.KIND: namespace.give_back,
    pages.KIND: pages.give_back,
    scratch.KIND: scratch.give_back,
    worktrees.KIND: worktrees.give_back,
    "cgroup": _remove_cgroup,
    "mount": _remove_mount,
    limited_disk.KIND: limited_disk.give_back,  # last: whoever has files on one is gone then
}
"""Undoes what is made of Linux itself, by whatever kind of environment."""
