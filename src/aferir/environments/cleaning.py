"""Undoing what environments have journalled and did not live to give back."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from aferir.clouds import lxd, providers, remote
from aferir.environments.lxc import container
from aferir.environments.qemu import kvm, vm
from aferir.environments.uml import guest
from aferir.image import userland
from aferir.linux import cgroup, journal, limited_disk, namespace, pages, scratch, undo
from aferir.linux.journal import Entry


def clean(entries: Sequence[Entry]) -> list[str]:
    """Undo each entry and erase it; what could not be undone, one sentence each.

    Repeating it is harmless, and so is an entry of which nothing, or only half, was made. An
    entry that could not be undone stays in the journal. Entries of a kind that is not ours stay.
    """
    problems = []
    # Disks last: whoever has files on one is gone then.
    for entry in sorted(entries, key=lambda one: one.kind == limited_disk.KIND):
        cleaner = _CLEANERS.get(entry.kind)
        if cleaner is None:
            continue
        try:
            cleaner(entry)
        except Exception as error:  # noqa: BLE001 - one that fails must not keep the others
            problems.append(f"{entry.kind} {entry.id} could not be removed: {error}")
    return problems


def kinds() -> tuple[str, ...]:
    """Kinds of entries that `clean` undoes."""
    return tuple(_CLEANERS)


def _clean_cgroup(entry: Entry) -> None:
    cgroup.remove(f"aferir-{entry.id}", cgroup.layout())
    journal.erase(entry)


def _clean_image(entry: Entry) -> None:
    undo.kill_marked(entry.id)
    undo.remove_tree(Path(entry.details["folder"]) / f".building-{entry.id}")
    journal.erase(entry)


def _clean_trial(entry: Entry) -> None:
    undo.kill_marked(entry.id)
    undo.remove_tree(Path(entry.details["folder"]) / f"aferir-{entry.id}")
    journal.erase(entry)


def _clean_mount(entry: Entry) -> None:
    """Unmount, and remove the empty folder it was mounted on."""
    undo.unmount(Path(entry.details["folder"]))
    with contextlib.suppress(OSError):
        Path(entry.details["folder"]).rmdir()
    journal.erase(entry)


def _clean_process(entry: Entry) -> None:
    """End one process, by its number and its start time, terminated first and killed then."""
    pid = int(entry.details["pid"])
    started = int(entry.details["started"])
    for number, wait_s in ((signal.SIGTERM, 2.0), (signal.SIGKILL, 2.0)):
        deadline = time.monotonic() + wait_s
        while journal.start_time(pid) == started and entry.boot_id == journal.boot_id():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
            if time.monotonic() > deadline:
                break
            time.sleep(0.02)
    journal.erase(entry)


_CLEANERS: dict[str, Callable[[Entry], None]] = {
    "cgroup": _clean_cgroup,
    "mount": _clean_mount,
    "process": _clean_process,
    container.KIND: container.give_back,
    userland.BUILDING: _clean_image,
    kvm.TRIAL: _clean_trial,
    limited_disk.KIND: limited_disk.give_back,
    lxd.KIND: lxd.give_back,
    namespace.KIND: namespace.give_back,
    pages.KIND: pages.give_back,
    remote.KIND: providers.give_back,
    scratch.KIND: scratch.give_back,
    guest.KIND: guest.give_back,
    vm.KIND: vm.give_back,
}
