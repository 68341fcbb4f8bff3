"""Protects the services' memory from reclaim, by files of their own control groups."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from aferir.colocation import remembered
from aferir.colocation.levers import memory
from aferir.colocation.remembered import Remembered
from aferir.colocation.settings import Settings
from aferir.linux import cgroup


def change(
    groups: Sequence[Path], wanted: Settings, now: Settings, record: Remembered
) -> tuple[Remembered, list[str]]:
    """Write the protection of the services' `groups`, or restore what was there before.

    The previous content of a file is recorded before the file is written for the first time. A
    protection that is already as large is not changed. Returns the record and problems, one
    sentence each.
    """
    low, root = wanted.service_memory_low_bytes, cgroup.layout().v2
    if not groups or root is None or low == now.service_memory_low_bytes:
        return record, []
    if low is None:
        return record, remembered.restore_files(record.files)
    known = dict(record.files)
    files = (file for group in groups for file in memory.protection(group, root))
    held = {str(file): _held(file) for file in files}
    smaller = {name: value for name, value in held.items() if memory.is_below(value, low)}
    if smaller.keys() - known.keys():
        record = msgspec.structs.replace(record, files=tuple((smaller | known).items()))
        remembered.write(record)
    problems = []
    for name in smaller:
        try:
            Path(name).write_text(str(low), encoding="ascii")
        except OSError as error:
            problems.append(f"{name} cannot be {low}: {error.strerror}")
    return record, problems


def _held(file: Path) -> str:
    """Contents of a protection file; "max" if its group has been removed meanwhile."""
    try:
        return file.read_text(encoding="ascii").strip()
    except OSError:
        return "max"
