"""Limits the batch program's use of disks: its requests' weight, and its bytes per second.

The weight costs the batch nothing while nobody else uses the disk: `io.bfq.weight` (scheduler BFQ)
and `io.weight` (io.cost) of version 2, `blkio.bfq.weight` of version 1. The limit is on each disk
of the machine: `io.max` of version 2, `blkio.throttle.*_bps_device` of version 1, which limits
direct and read requests only. Sources: cgroup-v2.rst, "IO"; cgroup-v1/blkio-controller.rst;
block/bfq-iosched.rst of the kernel.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

from aferir.colocation.settings import Batch
from aferir.linux import cgroup

_BLOCK = Path("/sys/block")
_NO_DISKS = ("loop", "ram", "zram", "sr", "fd", "nbd")
"""Beginnings of the names of block devices that are not disks of their own."""
_V1 = ("blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device")
_BFQ = (("blkio", "blkio.bfq.weight", ""), ("unified", "io.bfq.weight", ""))
_COST = (("unified", "io.weight", "default "),)
"""Files that set a weight: hierarchy, name, and the text to write before the number."""
_WEIGHT = 100
"""Default weight of a control group."""


def disks(block: Path = _BLOCK) -> tuple[str, ...]:
    """Numbers (`major:minor`) of the machine's disks."""
    return tuple(_of_disks("dev", block))


def _of_disks(file: str, block: Path) -> list[str]:
    """Yield the contents of `file` in the folder of each block device that is a disk."""
    found: list[str] = []
    for path in sorted(block.glob(f"*/{file}")):
        if not path.relative_to(block).parts[0].startswith(_NO_DISKS):
            with contextlib.suppress(OSError):  # it was removed meanwhile
                found.append(path.read_text(encoding="ascii").strip())
    return found


def can_weigh(folders: Mapping[str, Path], block: Path = _BLOCK, root: Path | None = None) -> bool:
    """Whether weights of control groups have an effect on any disk.

    They have one if the scheduler of a disk is BFQ, or if an operator has enabled io.cost. `root`:
    root of version 2; None: that of this machine.
    """
    if _there(_BFQ, folders) and any("[bfq]" in one for one in _of_disks("queue/scheduler", block)):
        return True
    qos = (root or cgroup.layout().v2 or Path()) / "io.cost.qos"
    try:
        return bool(_there(_COST, folders)) and "enable=1" in qos.read_text(encoding="ascii")
    except OSError:
        return False


def _there(
    files: tuple[tuple[str, str, str], ...], folders: Mapping[str, Path]
) -> list[tuple[str, str, str]]:
    return [one for one in files if one[0] in folders and (folders[one[0]] / one[1]).exists()]


def can(folders: Mapping[str, Path]) -> bool:
    """Whether the batch program's group can be limited, in either version."""
    first = "blkio" in folders and (folders["blkio"] / _V1[0]).exists()
    return first or ("unified" in folders and (folders["unified"] / "io.max").exists())


def writes(now: Batch, want: Batch, folders: Mapping[str, Path]) -> list[tuple[str, str, str]]:
    """Files to write in the batch program's group, as (hierarchy, file, value)."""
    found = []
    if now.disk_weight != want.disk_weight:
        weight = want.disk_weight or _WEIGHT
        for hierarchy, file, first in _there(_BFQ + _COST, folders):
            found.append((hierarchy, file, f"{first}{weight}"))
    return found if now.disk_bps == want.disk_bps else found + _limits(want, folders)


def _limits(want: Batch, folders: Mapping[str, Path]) -> list[tuple[str, str, str]]:
    numbers = disks()
    if "blkio" in folders:
        most = want.disk_bps or 0  # 0 removes the limit
        return [("blkio", file, f"{number} {most}") for file in _V1 for number in numbers]
    most_v2 = "max" if want.disk_bps is None else str(want.disk_bps)
    return [("unified", "io.max", f"{number} rbps={most_v2} wbps={most_v2}") for number in numbers]
