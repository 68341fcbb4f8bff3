"""Protects the service's memory from reclaim, by files of its own control groups."""

from __future__ import annotations

from pathlib import Path

import msgspec

from aferir.colocation import remembered
from aferir.colocation.levers import memory
from aferir.colocation.remembered import Remembered
from aferir.colocation.settings import Settings
from aferir.linux import cgroup


def change(
    group: Path | None, wanted: Settings, now: Settings, record: Remembered
) -> tuple[Remembered, list[str]]:
    """Write the protection of the service's `group`, or restore what was there before.

    What a file held is on record before it is written for the first time. Returns the record and
    problems, one sentence each.
    """
    low, root = wanted.service_memory_low_bytes, cgroup.layout().v2
    if group is None or root is None or low == now.service_memory_low_bytes:
        return record, []
    if low is None:
        return record, remembered.restore_files(record.files)
    files = memory.protection(group, root, low)
    known = dict(record.files)
    new = {str(file): _held(file) for file in files if str(file) not in known}
    if new:
        record = msgspec.structs.replace(record, files=tuple((known | new).items()))
        remembered.write(record)
    problems = []
    for file, value in files.items():
        try:
            file.write_text(value, encoding="ascii")
        except OSError as error:
            problems.append(f"{file} cannot be {value}: {error.strerror}")
    return record, problems


def _held(file: Path) -> str:
    return file.read_text(encoding="ascii").strip()
