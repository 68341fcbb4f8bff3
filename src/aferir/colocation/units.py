"""Units of systemd and their control groups (systemd.unit(5), systemd.slice(5))."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from aferir.errors import UsageError

_UNITS = (
    *("service", "scope", "slice", "socket", "mount", "swap", "target", "timer", "path"),
    *("device", "automount", "busname", "snapshot"),
)
"""Suffixes of unit names (systemd.unit(5)); any other dot is part of a service's name."""


def full_name(name: str) -> str:
    """Name of a unit with its suffix; a name without one is that of a service."""
    return name if name.rpartition(".")[2] in _UNITS else f"{name}.service"


def groups_named(root: Path, name: str) -> Iterator[Path]:
    """Folders of the groups of a unit, at any depth below `root`, as slices contain slices.

    For example, the group of `postgresql@15-main` is in system-postgresql.slice.
    """
    for folder, below, _ in os.walk(root):
        for written in (name, f"_{name}"):  # escaped if it could be taken for a kernel file
            if written in below:
                yield Path(folder, written)


def of_this_machine(found: Mapping[Path, Path], name: str) -> Path | None:
    """The group that belongs to this machine's own systemd; None if there are no groups.

    `found`: group to its path below the root. Units of this machine's systemd are within slices
    only; those of a container are below the container's own group. Errors: UsageError if several
    groups match equally well.
    """
    if not found:
        return None

    def foreign(path: Path) -> tuple[int, int]:
        above = path.parts[:-1]
        return sum(not part.endswith(".slice") for part in above), len(above)

    least = min(foreign(path) for path in found.values())
    nearest = {path: group for group, path in found.items() if foreign(path) == least}
    if len(nearest) > 1:
        some = " and ".join(f"/{path}" for path in sorted(nearest))
        raise UsageError(
            f"the unit {name} is there several times: {some}",
            remedy="name the one that is meant: --service cgroup:PATH",
        )
    return next(iter(nearest.values()))
