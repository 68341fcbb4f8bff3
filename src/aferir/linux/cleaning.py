"""Removes what is journalled and whose owner is dead."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from aferir.linux import (
    cgroup,
    fence,
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

_ENDING_S = 2.0
"""Time in s that a process has to end by itself after SIGTERM."""
Cleaner = Callable[[Entry], None]
"""Removes what an entry announces, then erases the entry. It may be repeated, and handles things
that were made only partly or not at all. Errors: any, if something is left; then the entry is
left too.
"""


def clean(entries: Sequence[Entry], cleaners: Mapping[str, Cleaner]) -> list[str]:
    """Remove what each entry announces and erase it; returns messages about failures.

    `cleaners` has a cleaner for each kind of entry, and they are called in this order: things that
    depend on others are removed first. Entries whose kind has no cleaner are left, and so are those
    that failed.
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
    """End one process, identified by pid and start time: SIGTERM first, then SIGKILL.

    Errors: OSError if it survives; then the entry is left.
    """
    pid = int(entry.details["pid"])
    started = int(entry.details["started"])

    def gone() -> bool:
        return journal.start_time(pid) != started or entry.boot_id != journal.boot_id()

    for number in (signal.SIGTERM, signal.SIGKILL):
        if gone():
            break
        undo.send(pid, number, lambda _: not gone())
        wait.until(gone, wait.after(_ENDING_S if number == signal.SIGTERM else undo.DYING_S))
    if not gone():
        raise OSError(f"process {pid} survives SIGKILL")
    journal.erase(entry)


def remove_marked_folder(entry: Entry, folder: Path) -> None:
    """Kill the processes with the entry's mark, then remove the folder and its mounts."""
    undo.kill_marked(entry.id)
    undo.remove_tree(folder)
    journal.erase(entry)


def _remove_cgroup(entry: Entry) -> None:
    cgroup.remove(f"aferir-{entry.id}", cgroup.layout())
    journal.erase(entry)


def _remove_mount(entry: Entry) -> None:
    """Unmount, and remove the empty mount point."""
    undo.unmount(Path(entry.details["folder"]))
    with contextlib.suppress(OSError):
        Path(entry.details["folder"]).rmdir()
    journal.erase(entry)


LINUX: Mapping[str, Cleaner] = {
    "process": remove_process,
    namespace.KIND: namespace.give_back,
    fence.KIND: fence.give_back,
    pages.KIND: pages.give_back,
    scratch.KIND: scratch.give_back,
    worktrees.KIND: worktrees.give_back,
    "cgroup": _remove_cgroup,
    "mount": _remove_mount,
    limited_disk.KIND: limited_disk.give_back,  # last: whoever has files on one is gone then
}
"""Cleaners of things that are made by Linux itself, for any kind of environment."""
