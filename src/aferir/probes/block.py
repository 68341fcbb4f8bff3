"""Volume and operations of block devices."""

from __future__ import annotations

from aferir.model.record import Sample, Side
from aferir.probes.base import Snapshot, risen
from aferir.probes.stack import BLOCKS, block_leaves

SECTOR_BYTES = 512
"""Unit of /proc/diskstats in bytes, for any device (Documentation/admin-guide/iostats.rst)."""

_COLUMNS = {
    "block_read_operations": (3, 1, "operations"),
    "block_read_bytes": (5, SECTOR_BYTES, "B"),
    "block_write_operations": (7, 1, "operations"),
    "block_write_bytes": (9, SECTOR_BYTES, "B"),
}


def parse_diskstats(text: str, told: str = "") -> dict[str, dict[str, int]]:
    """Counters of each whole device with no other device below it, so that no byte counts twice.

    `told`: which devices are below which, as the host describes it (`stack.describe_blocks`).
    """
    rows = [line.split() for line in text.splitlines()]
    rows = [row for row in rows if len(row) >= 14]
    leaves = block_leaves({row[2] for row in rows}, told)
    return {
        row[2]: {
            metric: int(row[column]) * scale for metric, (column, scale, _) in _COLUMNS.items()
        }
        for row in rows
        if row[2] in leaves and all(row[column].isdecimal() for column, _, _ in _COLUMNS.values())
    }


class BlockProbe:
    """Operations and bytes of all block devices together."""

    name = "block"

    def paths(self, side: Side) -> tuple[str, ...]:
        """/proc/diskstats, and on the host the description of which devices are below others."""
        return ("/proc/diskstats", BLOCKS) if side == "host" else ("/proc/diskstats",)

    def samples(
        self, before: Snapshot, after: Snapshot, elapsed_s: float, side: Side
    ) -> tuple[Sample, ...]:
        """`block_{read,write}_{operations,bytes}`; omitted if a counter fell.

        Devices that appeared or went away meanwhile are left out.
        """
        if "/proc/diskstats" not in before or "/proc/diskstats" not in after:
            return ()
        first = parse_diskstats(before["/proc/diskstats"], before.get(BLOCKS, ""))
        last = parse_diskstats(after["/proc/diskstats"], after.get(BLOCKS, ""))
        known = first.keys() & last.keys()
        return tuple(
            Sample(metric, value, unit, side)
            for metric, (_, _, unit) in _COLUMNS.items()
            if (value := risen((first[d][metric], last[d][metric]) for d in known)) is not None
        )
