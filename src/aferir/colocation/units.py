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
"""Suffixes of units (systemd.unit(5)); any other dot is part of a service's name."""


def full_name(name: str) -> str:
    """Of a unit, a service where it does not say what it is."""
    return name if name.rpartition(".")[2] in _UNITS else f"{name}.service"


def groups_named(root: Path, name: str) -> Iterator[Path]:
    """Slices are within slices: that of `postgresql@15-main` is in system-postgresql.slice."""
    for folder, below, _ in os.walk(root):
        for written in (name, f"_{name}"):  # where it might be taken for a file of the kernel's
            if written in below:
                yield Path(folder, written)


def of_this_machine(found: Mapping[Path, Path], name: str) -> Path | None:
    """Of groups, each with its path below the root, that of this machine's own systemd.

    Its units are in slices alone; those of a container are below the container's own group.
    Errors: UsageError where several are as likely.
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
