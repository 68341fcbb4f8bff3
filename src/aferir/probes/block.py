"""What was read from and written to block devices."""

from __future__ import annotations

from aferir.model.record import Sample, Side
from aferir.probes.base import Snapshot

SECTOR_BYTES = 512
"""/proc/diskstats counts in sectors of 512 bytes whatever the device's own
(Documentation/admin-guide/iostats.rst)."""

_VIRTUAL = ("loop", "ram", "dm-", "md", "zram")
_COLUMNS = {
    "block_read_operations": (3, 1, "operations"),
    "block_read_bytes": (5, SECTOR_BYTES, "B"),
    "block_write_operations": (7, 1, "operations"),
    "block_write_bytes": (9, SECTOR_BYTES, "B"),
}


def parse_diskstats(text: str) -> dict[str, dict[str, int]]:
    """Counters of each whole device that is no layer over another one.

    A partition is left out by its device's name being a prefix of its own (`vda1`, `nvme0n1p2`),
    a stacked device by its kind, so that no byte counts twice.
    """
    rows = [line.split() for line in text.splitlines()]
    rows = [row for row in rows if len(row) >= 14 and not row[2].startswith(_VIRTUAL)]
    names = {row[2] for row in rows}
    return {
        row[2]: {
            metric: int(row[column]) * scale for metric, (column, scale, _) in _COLUMNS.items()
        }
        for row in rows
        if not any(row[2] != name and row[2].startswith(name) for name in names)
        and all(row[column].isdecimal() for column, _, _ in _COLUMNS.values())
    }


class BlockProbe:
    """Operations and bytes of all block devices together."""

    name = "block"

    def paths(self, side: Side) -> tuple[str, ...]:
        """One file holds all devices."""
        return ("/proc/diskstats",)

    def samples(
        self, before: Snapshot, after: Snapshot, elapsed_s: float, side: Side
    ) -> tuple[Sample, ...]:
        """`block_{read,write}_{operations,bytes}`; a device that came in between is left out."""
        if "/proc/diskstats" not in before or "/proc/diskstats" not in after:
            return ()
        first = parse_diskstats(before["/proc/diskstats"])
        last = parse_diskstats(after["/proc/diskstats"])
        return tuple(
            Sample(
                metric,
                float(sum(last[d][metric] - first[d][metric] for d in first.keys() & last.keys())),
                unit,
                side,
            )
            for metric, (_, _, unit) in _COLUMNS.items()
        )
