"""Records on disk what a run changes, with the state before, ahead of each change.

The journal entry says that there is something to undo; the file beside it says what. The file is
replaced whenever a thread is changed for the first time. It is replaced atomically, but not synced,
since its contents are void after a reboot.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Collection, Mapping
from pathlib import Path

import msgspec

from aferir.colocation import attributes, leaving, place, restores, service, transient
from aferir.colocation.attributes import Found
from aferir.colocation.levers import cache
from aferir.colocation.settings import Settings
from aferir.linux import cgroup, journal
from aferir.linux.journal import Entry

KIND = "colocation"
_ROUNDS = 5


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    """State before a run: changed threads, inheritable settings, the batch program's group."""

    id: str
    """ID of the run's journal entry."""
    threads: tuple[Found, ...] = ()
    """Every thread that was changed, as it was found. The first thread of each process (tid = pid)
    is always included: threads started later are restored to its attributes."""
    since: int = 0
    """Time before anything was set, in clock ticks since boot. Threads started before it have
    inherited nothing from this run."""
    nices: tuple[int, ...] = ()
    """Nice values that new threads may have inherited from this run's settings."""
    masks: tuple[tuple[int, ...], ...] = ()
    """CPU affinities that this run set and new threads may have inherited."""
    policies: tuple[int, ...] = ()
    """Scheduling policies that new threads may have inherited from this run's settings."""
    parents: tuple[str, ...] = ()
    """Groups below which the batch program's control group is, or is about to be created."""
    switched_on: dict[str, tuple[str, ...]] = {}
    """Controllers that were enabled for a group's children (cgroup.subtree_control), by group;
    version 2 only."""

    files: tuple[tuple[str, str], ...] = ()
    """Files of control groups that are not ours and were written, each with its content before."""
    scope: bool = False
    """Whether the batch program's group is a scope of systemd."""

    @property
    def group(self) -> str:
        """Name of the batch program's control group."""
        return f"aferir-{self.id}"


def path(identifier: str) -> Path:
    """Path of the file of a journal entry."""
    return journal.state_folder() / "colocation" / f"{identifier}.json"


def write(remembered: Remembered) -> None:
    """Replace the file on disk atomically."""
    target = path(remembered.id)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_suffix(f".writing-{os.getpid()}")
    temporary.write_bytes(msgspec.json.encode(remembered))
    temporary.replace(target)


def read(identifier: str) -> Remembered | None:
    """Read the file of a journal entry; None if nothing is left to undo."""
    try:
        return msgspec.json.decode(path(identifier).read_bytes(), type=Remembered)
    except (OSError, msgspec.DecodeError):
        return None


def switched_on_by_others(own: Entry, parents: Collection[Path]) -> dict[str, tuple[str, ...]]:
    """Controllers that other runs have also enabled in `parents`; the last run disables them."""
    found: dict[str, tuple[str, ...]] = {}
    for entry in journal.entries():
        ours = entry.kind == KIND and entry.boot_id == own.boot_id and entry.id != own.id
        if ours and (other := read(entry.id)) is not None:
            found = together(found, other.switched_on)
    return {parent: on for parent, on in found.items() if Path(parent) in parents}


def together(
    one: Mapping[str, tuple[str, ...]], other: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    """Merge two mappings of groups to controllers."""
    names = [*one, *(name for name in other if name not in one)]
    return {
        name: tuple(dict.fromkeys([*one.get(name, ()), *other.get(name, ())])) for name in names
    }


def inherited(found: Found, remembered: Remembered, first: Found) -> Found:
    """The attributes that a thread would have if the thread that started it had not been changed.

    `first`: the process's first thread as found, from which new threads would have inherited. Only
    a value that equals a setting of this run is considered inherited; any other is the thread's
    own.
    """
    if found.started < remembered.since:
        return found
    own, untouched = found.attributes, attributes.of_started_by(first.attributes)
    if own.policy in remembered.policies:
        own = msgspec.structs.replace(own, policy=untouched.policy, priority=untouched.priority)
    if own.nice in remembered.nices:
        own = msgspec.structs.replace(own, nice=untouched.nice)
    cpus = first.cpus if found.cpus in remembered.masks else found.cpus
    return msgspec.structs.replace(found, attributes=own, cpus=cpus)


def with_inheritable(before: Remembered, wanted: Settings) -> Remembered:
    """Return a copy with the settings that new threads may inherit despite RESET_ON_FORK.

    These are nice values, scheduling policies and CPU affinities.
    """
    given = [*wanted.threads.values(), *([wanted.service] if wanted.service else [])]
    started = [attributes.of_started_by(attributes.of(schedule)) for schedule in given]
    nices = {new.nice for new in started if new.policy != attributes.IDLE}  # its nice value stays
    policies = {new.policy for new in started}
    masks = {cpus for cpus in (wanted.service_cpus, *(s.cpus for s in given)) if cpus}
    return msgspec.structs.replace(
        before,
        nices=tuple(sorted(nices.union(before.nices))),
        policies=tuple(sorted(policies.union(before.policies))),
        masks=tuple(sorted(masks.union(before.masks))),
    )


def restore(remembered: Remembered) -> list[str]:
    """Restore everything; returns one sentence for each failure. May be repeated.

    Threads come first because that takes microseconds; removing the batch program's group takes
    longer.
    """
    problems = list(filter(None, map(leaving.restore, remembered.threads)))
    for _ in range(_ROUNDS):
        late = _started_meanwhile(remembered)
        problems += list(filter(None, map(leaving.restore, late)))
        if not late:
            break
    problems += write_files(remembered.files)
    try:
        parents = tuple(map(Path, remembered.parents))
        cgroup.remove(remembered.group, cgroup.layout(), parents)
    except OSError as error:
        problems.append(f"the control group {remembered.group} stays: {error}")
    problems += cache.remove(remembered.group)
    if remembered.scope:
        transient.forget(remembered.group)
    for parent, controllers in remembered.switched_on.items():
        place.take_back(Path(parent), controllers)
    return problems


def write_files(files: Collection[tuple[str, str]]) -> list[str]:
    """Write each line of a text to its file; returns problems, one sentence each.

    Groups and disks that have gone meanwhile are left out.
    """
    problems = []
    for name, text in files:
        for line in text.splitlines():  # the kernel reads one line at each write
            try:
                Path(name).write_text(line, encoding="ascii")
            except OSError as error:
                if error.errno not in (errno.ENOENT, errno.ENODEV):
                    problems.append(f"{name} cannot be {line}: {error.strerror}")
    return problems


def _started_meanwhile(remembered: Remembered) -> list[Found]:
    """Threads not on record that inherited this run's settings, with the attributes to restore."""
    if not (remembered.nices or remembered.masks or remembered.policies):
        return []
    known = {(found.tid, found.started) for found in remembered.threads}
    late = []
    for first in remembered.threads:
        if first.tid != first.pid or not is_same(first):
            continue
        for tid in service.threads((first.pid,)):
            found = attributes.find(first.pid, tid)
            if found is None or (found.tid, found.started) in known:
                continue
            wanted = inherited(found, remembered, first)
            if wanted != found:
                late.append(wanted)
    return late


def is_same(found: Found) -> bool:
    """Whether the thread still runs and its ID has not been reused."""
    return attributes.thread_started(found.pid, found.tid) == found.started


def undo(entry: Entry) -> list[str]:
    """Undo all changes of a journal entry, and erase it if that succeeded; returns problems."""
    problems: list[str] = []
    if entry.boot_id == journal.boot_id():
        remembered = read(entry.id)
        if remembered is not None:
            problems = restore(remembered)
            restores.count(complete=not problems)
    if not problems:
        forget(entry)
    return problems


def forget(entry: Entry) -> None:
    """Erase the journal entry and its file once everything is restored."""
    path(entry.id).unlink(missing_ok=True)
    for torn in path(entry.id).parent.glob(f"{entry.id}.*"):  # a status, or a torn file
        with contextlib.suppress(OSError):
            torn.unlink()
    journal.erase(entry)


def give_back(entry: Entry) -> None:
    """Undo an entry whose owner is dead. Errors: OSError if something could not be restored."""
    if problems := undo(entry):
        raise OSError("; ".join(problems))
