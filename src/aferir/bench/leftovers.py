"""What of ours still stands on this machine: the proof that a clean-up was complete."""

from __future__ import annotations

import os
from pathlib import Path

from aferir import journal
from aferir.process import OWNER_VARIABLE

_MARK = "aferir-"


def leftovers(owners: frozenset[int]) -> list[str]:
    """Processes started by `owners`, our mounts, control groups, instances, journal entries.

    `owners` are process ids of runners that have ended.
    """
    return [
        *(f"process {pid}" for pid in _processes(owners)),
        *(f"mount {line.split()[1]}" for line in _lines("/proc/self/mounts") if _MARK in line),
        *(f"control group {path}" for path in _control_groups()),
        *(f"name space {path}" for path in Path("/run/netns").glob(f"{_MARK}*")),
        *(f"journal entry {entry.kind} {entry.id}" for entry in journal.orphans()),
        *(f"folder {path}" for path in _instances()),
    ]


def _processes(owners: frozenset[int]) -> list[int]:
    marks = {f"{OWNER_VARIABLE}={pid}".encode() for pid in owners}
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            variables = set(path.read_bytes().split(b"\0"))
        except OSError:
            continue
        if variables & marks:
            found.append(int(path.parent.name))
    return found


def _control_groups() -> list[Path]:
    """Others' groups come and go meanwhile, which os.walk passes over."""
    return [
        Path(folder) / name
        for folder, names, _ in os.walk("/sys/fs/cgroup")
        for name in names
        if _MARK in name
    ]


def _instances() -> list[Path]:
    state = journal.state_folder()
    return [
        path
        for folder in ("containers", "guests", "namespaces", "vms")
        for path in (state / folder).glob(f"{_MARK}*")
    ]


def _lines(path: str) -> list[str]:
    return Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
