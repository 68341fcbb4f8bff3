"""Limits the batch's memory by `memory.high`, and protects the service's by `memory.low`.

`memory.high` reclaims and delays, and never kills. `memory.low` protects a group from reclaim as
far as the groups above it are protected too. Source: cgroup-v2.rst, "Memory". Version 1 has
neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from aferir.colocation.settings import Batch

_HIGH, LOW = "memory.high", "memory.low"


def can(folders: Mapping[str, Path]) -> bool:
    """Whether the batch program's group has the file `memory.high`."""
    return "unified" in folders and (folders["unified"] / _HIGH).exists()


def writes(now: Batch, want: Batch) -> list[tuple[str, str, str]]:
    """Files to write in the batch program's group, as (hierarchy, file, value)."""
    if now.memory_high_bytes == want.memory_high_bytes:
        return []
    most = "max" if want.memory_high_bytes is None else str(want.memory_high_bytes)
    return [("unified", _HIGH, most)]


def protection(group: Path, root: Path) -> list[Path]:
    """`memory.low` files to write to protect the service's memory, the outermost group's first.

    `group`: the service's group; `root`: the folder where the version 2 hierarchy is mounted,
    which has no such file. The groups around the service's need the same protection; those without
    the memory controller are omitted.
    """
    above = [folder for folder in (group, *group.parents) if root in folder.parents]
    files = [folder / LOW for folder in reversed(above)]
    return [file for file in files if file.exists()]


def is_below(held: str, low_bytes: int) -> bool:
    """Whether a `memory.low` file that contains `held` (bytes, or `max`) protects too little."""
    return held.isdecimal() and int(held) < low_bytes
