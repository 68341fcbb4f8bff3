"""Memory: `memory.high` of the batch program, `memory.low` of the service.

`memory.high` reclaims and delays, and never kills. `memory.low` protects a group from reclaim as
far as the groups above it are protected too. Source: cgroup-v2.rst, "Memory". Version 1 has
neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from aferir.colocation.settings import Batch

_HIGH, _LOW = "memory.high", "memory.low"


def can(folders: Mapping[str, Path]) -> bool:
    """Whether the batch program's group has the file."""
    return "unified" in folders and (folders["unified"] / _HIGH).exists()


def writes(now: Batch, want: Batch) -> list[tuple[str, str, str]]:
    """Files to write in the batch program's group: (hierarchy, file, value)."""
    if now.memory_high_bytes == want.memory_high_bytes:
        return []
    most = "max" if want.memory_high_bytes is None else str(want.memory_high_bytes)
    return [("unified", _HIGH, most)]


def protection(group: Path, root: Path, low_bytes: int | None) -> dict[Path, str]:
    """Files that protect the service's memory, from the top down; {} without a protection.

    `group`: the service's group below `root` of version 2. Each group above it needs the same, and
    a group without the controller is left out.
    """
    if low_bytes is None:
        return {}
    above = [folder for folder in (group, *group.parents) if root in folder.parents]
    files = [folder / _LOW for folder in reversed(above)]
    return {file: str(low_bytes) for file in files if file.exists()}
