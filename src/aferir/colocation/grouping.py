"""Makes the batch program's control group: a plain folder, or a scope if systemd owns the tree."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import msgspec

from aferir.colocation import attributes, batch, remembered, transient
from aferir.colocation.batch import Group
from aferir.colocation.levers import cache
from aferir.colocation.place import Place
from aferir.colocation.remembered import Remembered
from aferir.linux import cgroup
from aferir.linux.cgroup import Layout
from aferir.linux.journal import Entry


class Made(msgspec.Struct, frozen=True):
    """A created control group, its journal record, and the process that keeps its scope."""

    group: Group
    remembered: Remembered
    holder: subprocess.Popen[str] | None = None
    """Process that keeps the scope; None: the group is no scope."""
    cache: Path | None = None
    """The batch program's group of resctrl; None: its part of the caches cannot be limited."""


def make(entry: Entry, where: Place | None, cpus: Sequence[int]) -> Made:
    """Record and create the batch program's group, limited to `cpus`.

    `entry`: its journal entry, which a guard watches. `where`: place beside the service; None: at
    the root. Errors: MissingError if control groups cannot be created, ProgramError if systemd
    refuses a scope.
    """
    have = cgroup.layout()
    parents = batch.parents(have, where)
    root = _owned_by_systemd(have, parents.get("unified"))
    record = Remembered(
        id=entry.id,
        since=attributes.ticks_since_boot(),
        parents=tuple(dict.fromkeys(map(str, parents.values()))),
        scope=root is not None,
        switched_on=remembered.together(
            batch.to_switch_on(parents),
            remembered.switched_on_by_others(entry, parents.values()),
        ),
    )
    remembered.write(record)
    name, holder = record.group, None
    if root is not None:
        holder = transient.start(record.group, root, parents["unified"]).holder
        name = transient.name_of(record.group)
    share = where.share if where else 1.0
    return Made(batch.make(name, parents, cpus, share), record, holder, cache.make(record.group))


def _owned_by_systemd(have: Layout, parent: Path | None) -> Path | None:
    """Root of version 2 if it has the cpu controller and systemd can make a scope there."""
    if parent is None or "cpu" in have.v1 or not transient.owns(have.v2, parent):
        return None
    return have.v2
