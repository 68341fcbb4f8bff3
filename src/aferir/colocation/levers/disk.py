"""Disks: what the batch program reads and writes in a second, on each disk of the machine.

`io.max` of version 2, `blkio.throttle.*_bps_device` of version 1, which limits direct and read
requests only. Sources: cgroup-v2.rst, "IO"; cgroup-v1/blkio-controller.rst of the kernel.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

from aferir.colocation.settings import Batch

_BLOCK = Path("/sys/block")
_NO_DISKS = ("loop", "ram", "zram", "sr", "fd", "nbd")
"""Beginnings of the names of devices that are no disks, or lead to one."""
_V1 = ("blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device")


def disks(block: Path = _BLOCK) -> tuple[str, ...]:
    """Numbers (`major:minor`) of the machine's disks."""
    found: list[str] = []
    for path in sorted(block.glob("*/dev")):
        if not path.parent.name.startswith(_NO_DISKS):
            with contextlib.suppress(OSError):  # it was removed meanwhile
                found.append(path.read_text(encoding="ascii").strip())
    return tuple(found)


def can(folders: Mapping[str, Path]) -> bool:
    """Whether the batch program's group can be limited, in either version."""
    first = "blkio" in folders and (folders["blkio"] / _V1[0]).exists()
    return first or ("unified" in folders and (folders["unified"] / "io.max").exists())


def writes(now: Batch, want: Batch, folders: Mapping[str, Path]) -> list[tuple[str, str, str]]:
    """Files to write in the batch program's group: (hierarchy, file, value)."""
    if now.disk_bps == want.disk_bps:
        return []
    numbers = disks()
    if "blkio" in folders:
        most = want.disk_bps or 0  # 0 removes the limit
        return [("blkio", file, f"{number} {most}") for file in _V1 for number in numbers]
    most_v2 = "max" if want.disk_bps is None else str(want.disk_bps)
    return [("unified", "io.max", f"{number} rbps={most_v2} wbps={most_v2}") for number in numbers]
