"""Sets a target for the latency of disk requests on the groups beside the batch's (io.latency).

While a group misses its target, the kernel lowers the number of outstanding requests of those
siblings that have a higher target or none. So the groups beside the batch's get the same target,
and the batch's has none: it alone is throttled, whichever of them holds the service. A group that
has a target already keeps it, and other batches get none. Only version 2 has the file, with
CONFIG_BLK_CGROUP_IOLATENCY. Sources: cgroup-v2.rst, "IO Latency"; block/blk-iolatency.c of the
kernel.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path

FILE = "io.latency"
_BATCHES = "aferir-"
"""Beginning of the names of batch programs' groups."""


def can(folders: Mapping[str, Path]) -> bool:
    """Whether the kernel compares the batch's group with those beside it."""
    return "unified" in folders and (folders["unified"] / FILE).exists()


def beside(folders: Mapping[str, Path]) -> list[Path]:
    """Files of the groups beside the batch's that have no target yet."""
    found = []
    for file in sorted(folders["unified"].parent.glob(f"*/{FILE}")):
        with contextlib.suppress(OSError):  # the group was removed meanwhile
            if not file.parent.name.startswith(_BATCHES) and not file.read_text("ascii").strip():
                found.append(file)
    return found


def lines(target_s: float | None, disks: Sequence[str]) -> str:
    """Lines that set the target on each disk (`major:minor`), to be written one by one.

    None: no target.
    """
    target = "max" if target_s is None else str(max(1, round(1e6 * target_s)))
    return "\n".join(f"{disk} target={target}" for disk in disks)
