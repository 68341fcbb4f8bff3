"""Confines the batch to a part of the last-level cache and of the memory bandwidth, by resctrl.

An operator mounts the file system, where the processor can limit either. The batch's tasks form a
group of it, a folder whose `schemata` says what they may use of each cache: bits of a mask, of
which hardware may require consecutive ones, and percent of the bandwidth. The service's tasks stay
where they are, and may use everything. Source: Documentation/filesystems/resctrl.rst of the kernel.
"""

from __future__ import annotations

import math
from pathlib import Path

from aferir.colocation.settings import Batch

ROOT = Path("/sys/fs/resctrl")
TASKS = "tasks"
"""File of a group to which a task writes 0 to enter it; what it starts is in the group too."""
_SCHEMATA = "schemata"
_CACHES = ("L3", "L3CODE", "L3DATA")
"""Names of the last-level cache; the latter two if code and data are separate (CDP)."""
_BANDWIDTH = "MB"


def make(name: str) -> Path | None:
    """Create the batch's group; None if nothing can be limited, or the processor has no group left.

    Journal `name` before.
    """
    try:
        if not schemata(None, ROOT):
            return None
        (ROOT / name).mkdir(exist_ok=True)
    except OSError:
        return None
    return ROOT / name


def remove(name: str) -> list[str]:
    """Remove the group, which moves its tasks to the root; returns problems, one sentence each."""
    try:
        (ROOT / name).rmdir()
    except FileNotFoundError:
        return []
    except OSError as error:
        return [f"the resctrl group {name} stays: {error.strerror}"]
    return []


def change(now: Batch, want: Batch, group: Path | None) -> list[str]:
    """Write the batch's part of the caches if it changes; returns problems, one sentence each."""
    if group is None or now.cache_percent == want.cache_percent:
        return []
    try:
        text = schemata(want.cache_percent, group.parent)
        (group / _SCHEMATA).write_text(text, encoding="ascii")
    except OSError as error:
        return [f"the batch program's part of the caches cannot be changed: {error.strerror}"]
    return []


def schemata(percent: int | None, root: Path) -> str:
    """Lines that permit a group this part of each cache and its bandwidth; None: all of it.

    Empty if neither can be limited. Errors: OSError if the file system is not mounted.
    """
    lines = []
    for line in (root / _SCHEMATA).read_text(encoding="ascii").splitlines():
        name, _, written = line.strip().partition(":")
        domains = dict(one.split("=") for one in written.split(";") if one)
        if name in _CACHES:
            amount = f"{_mask(percent, root / 'info' / name):x}"
        elif name == _BANDWIDTH and all(int(most) == 100 for most in domains.values()):
            amount = str(_bandwidth(percent, root / "info" / name))
        else:  # another level, or a bandwidth that is not in percent (AMD, mba_MBps)
            continue
        lines.append(f"{name}:{';'.join(f'{domain.strip()}={amount}' for domain in domains)}\n")
    return "".join(lines)


def _mask(percent: int | None, info: Path) -> int:
    """The mask's lowest bits, at least as many as the hardware needs."""
    whole = int((info / "cbm_mask").read_text(encoding="ascii"), 16)
    if percent is None:
        return whole
    least = int((info / "min_cbm_bits").read_text(encoding="ascii"))
    bits = max(least, math.ceil(percent * whole.bit_count() / 100))
    return whole & ((1 << bits) - 1)


def _bandwidth(percent: int | None, info: Path) -> int:
    """The percentage, rounded up to a step that the hardware has."""
    least, step = (
        int((info / file).read_text(encoding="ascii"))
        for file in ("min_bandwidth", "bandwidth_gran")
    )
    steps = math.ceil(max(0, (100 if percent is None else percent) - least) / step)
    return min(100, least + steps * step)
