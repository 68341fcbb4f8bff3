"""Context switches and interrupts."""

from __future__ import annotations

from aferir.model.record import Sample, Side
from aferir.probes.base import Snapshot

_LINES = {"ctxt": "context_switches", "intr": "interrupts"}


def parse_totals(text: str) -> dict[str, int]:
    """Totals of the `ctxt` and `intr` lines of /proc/stat since boot (proc(5))."""
    found = {}
    for line in text.splitlines():
        fields = line.split(maxsplit=2)
        if len(fields) >= 2 and fields[0] in _LINES and fields[1].isdecimal():
            found[_LINES[fields[0]]] = int(fields[1])
    return found


class SwitchesProbe:
    """Numbers of context switches and interrupts on all CPUs."""

    name = "switches"

    def paths(self, side: Side) -> tuple[str, ...]:
        """Return /proc/stat, which has the numbers of context switches and interrupts."""
        return ("/proc/stat",)

    def samples(
        self, before: Snapshot, after: Snapshot, elapsed_s: float, side: Side
    ) -> tuple[Sample, ...]:
        """`context_switches` and `interrupts` during the run."""
        first = parse_totals(before.get("/proc/stat", ""))
        last = parse_totals(after.get("/proc/stat", ""))
        return tuple(
            Sample(metric, float(last[metric] - first[metric]), "count", side)
            for metric in first
            if metric in last
        )
