"""Protects the services' memory and disk requests by files of control groups that are not ours.

What a file held is on record before it is written for the first time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from aferir.colocation import remembered
from aferir.colocation.levers import disk, latency, memory
from aferir.colocation.remembered import Remembered
from aferir.colocation.settings import Settings
from aferir.linux import cgroup


def change(
    groups: Sequence[Path],
    batch: Mapping[str, Path],
    settings: tuple[Settings, Settings],
    record: Remembered,
) -> tuple[Remembered, list[str]]:
    """Write the protections, or restore what was there before.

    `groups`: control groups of the services; `batch`: folders of the batch's group, by controller;
    `settings`: (in effect, wanted). Returns the record of the files' earlier contents, and
    problems, one sentence each.
    """
    now, wanted = settings
    problems: list[str] = []
    low = wanted.service_memory_low_bytes
    if low != now.service_memory_low_bytes:
        if low is None:
            problems += _restore(memory.LOW, record)
        else:
            record, problems = _protect_memory(groups, low, record)
    target_s = wanted.disk_target_s
    if target_s != now.disk_target_s and latency.can(batch):
        problems += _restore(latency.FILE, record)
        if target_s is not None:
            record, more = _aim(batch, target_s, record)
            problems += more
    return record, problems


def _restore(name: str, record: Remembered) -> list[str]:
    """Write what the files of that name held before; returns problems."""
    return remembered.write_files([one for one in record.files if Path(one[0]).name == name])


def _protect_memory(
    groups: Sequence[Path], low: int, record: Remembered
) -> tuple[Remembered, list[str]]:
    """Write memory.low of the services' `groups`; one that is already as large stays."""
    root = cgroup.layout().v2
    if root is None:
        return record, []
    files = (file for group in groups for file in memory.protection(group, root))
    held = {str(file): _held(file) for file in files}
    smaller = {name: value for name, value in held.items() if memory.is_below(value, low)}
    return _write(smaller, str(low), record)


def _aim(
    batch: Mapping[str, Path], target_s: float, record: Remembered
) -> tuple[Remembered, list[str]]:
    """Write the target of disk requests of all groups beside the batch's."""
    disks = disk.disks()
    held = {str(file): latency.lines(None, disks) for file in latency.beside(batch)}
    return _write(held, latency.lines(target_s, disks), record)


def _write(held: Mapping[str, str], value: str, record: Remembered) -> tuple[Remembered, list[str]]:
    """Write each line of a value to files that hold these texts, which are recorded before."""
    known = dict(record.files)
    if held.keys() - known.keys():
        record = msgspec.structs.replace(record, files=tuple((dict(held) | known).items()))
        remembered.write(record)
    return record, remembered.write_files([(name, value) for name in held])


def _held(file: Path) -> str:
    """Contents of a protection file; "max" if its group has been removed meanwhile."""
    try:
        return file.read_text(encoding="ascii").strip()
    except OSError:
        return "max"
