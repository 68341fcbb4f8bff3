"""What was changed and how it was before, on the disk before anything is changed.

The journal's entry says that there is something to undo; the file beside it, what. It is written
anew for every thread that is touched for the first time. It is whole at any moment but not synced:
what it tells is void after a reboot.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Mapping
from pathlib import Path

import msgspec

from aferir.colocation import attributes, leaving, place, service
from aferir.colocation.attributes import Found
from aferir.linux import cgroup, journal
from aferir.linux.journal import Entry

KIND = "colocation"
_ROUNDS = 5


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    """How the service was, what we may have left on it, and which control group is ours."""

    id: str
    """Name of the journal's entry."""
    threads: tuple[Found, ...] = ()
    """Every thread that was touched, as it was found. The first thread of a process (tid = pid)
    is among them, and stands for those that were started since."""
    since: int = 0
    """Before anything was set, in clock ticks since boot: threads that were started before that
    moment have inherited nothing of ours."""
    nices: tuple[int, ...] = ()
    """Nice values of threads that were started by those we have set."""
    masks: tuple[tuple[int, ...], ...] = ()
    """CPUs that were set, inherited too."""
    policies: tuple[int, ...] = ()
    """Policies of threads that were started by those we have set."""
    parents: tuple[str, ...] = ()
    """Below which the batch program's control group is, or is about to be."""
    switched_on: dict[str, tuple[str, ...]] = {}
    """Control groups of version 2 to the controllers that their children were given for it."""

    @property
    def group(self) -> str:
        """Name of the control group of the batch program."""
        return f"aferir-{self.id}"


def path(identifier: str) -> Path:
    """Where it is remembered."""
    return journal.state_folder() / "colocation" / f"{identifier}.json"


def write(remembered: Remembered) -> None:
    """Replace the file in one step."""
    target = path(remembered.id)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_suffix(f".writing-{os.getpid()}")
    temporary.write_bytes(msgspec.json.encode(remembered))
    temporary.replace(target)


def read(identifier: str) -> Remembered | None:
    """None where nothing is left to undo."""
    try:
        return msgspec.json.decode(path(identifier).read_bytes(), type=Remembered)
    except (OSError, msgspec.DecodeError):
        return None


def switched_on_by_others(own: Entry, parents: Collection[Path]) -> dict[str, tuple[str, ...]]:
    """What other runs have switched on in those groups: whoever ends last switches it off."""
    found: dict[str, tuple[str, ...]] = {}
    for entry in journal.entries():
        ours = entry.kind == KIND and entry.boot_id == own.boot_id and entry.id != own.id
        if ours and (other := read(entry.id)) is not None:
            found = together(found, other.switched_on)
    return {parent: on for parent, on in found.items() if Path(parent) in parents}


def together(
    one: Mapping[str, tuple[str, ...]], other: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    """The controllers of both for each group."""
    names = [*one, *(name for name in other if name not in one)]
    return {
        name: tuple(dict.fromkeys([*one.get(name, ()), *other.get(name, ())])) for name in names
    }


def inherited(found: Found, remembered: Remembered, first: Found) -> Found:
    """How a thread would be, had we not touched the thread that started it: as `first` starts one.

    Only what is exactly one of our settings is taken for inherited; the rest is the thread's own.
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


def restore(remembered: Remembered) -> list[str]:
    """Make everything what it was; what could not be, one sentence each. Repeating is harmless.

    Threads first, which takes microseconds: what the batch program holds takes longer to free.
    """
    problems = list(filter(None, map(leaving.restore, remembered.threads)))
    for _ in range(_ROUNDS):
        late = _started_meanwhile(remembered)
        problems += list(filter(None, map(leaving.restore, late)))
        if not late:
            break
    try:
        parents = tuple(map(Path, remembered.parents))
        cgroup.remove(remembered.group, cgroup.layout(), parents)
    except OSError as error:
        problems.append(f"the control group {remembered.group} stays: {error}")
    for parent, controllers in remembered.switched_on.items():
        place.take_back(Path(parent), controllers)
    return problems


def _started_meanwhile(remembered: Remembered) -> list[Found]:
    """Threads not remembered that inherited our settings, as they should be."""
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
    """Whether that thread still runs, and not another of its number."""
    return attributes.thread_started(found.pid, found.tid) == found.started


def undo(entry: Entry) -> list[str]:
    """Undo what an entry of the journal stands for and erase it; problems."""
    problems: list[str] = []
    if entry.boot_id == journal.boot_id():
        remembered = read(entry.id)
        if remembered is not None:
            problems = restore(remembered)
    if not problems:
        forget(entry)
    return problems


def forget(entry: Entry) -> None:
    """All is as it was."""
    path(entry.id).unlink(missing_ok=True)
    for torn in path(entry.id).parent.glob(f"{entry.id}.writing-*"):
        with contextlib.suppress(OSError):
            torn.unlink()
    journal.erase(entry)


def give_back(entry: Entry) -> None:
    """As `undo`, of an entry whose owner is dead. Errors: OSError where something stays."""
    if problems := undo(entry):
        raise OSError("; ".join(problems))
