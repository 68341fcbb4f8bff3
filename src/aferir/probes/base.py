"""The Protocol of probes: a snapshot before, one after, and a pure difference."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from aferir.model.record import Sample, Side

Snapshot = dict[str, str]
"""Contents of text files by path; files that do not exist are left out.

A path is that of a file in /proc or /sys of the side that is read, or one of these names, which the
caller that takes the snapshot resolves on the host for the instance:

- `cgroup:CONTROLLER/FILE`, e.g. `cgroup:cpuacct/cpuacct.usage`, in the instance's control group;
- `process:stat`, /proc/PID/stat of the instance's processes, a line each;
- `process:processors`, the same file of each thread that represents a CPU of a guest;
- `process:io`, /proc/PID/io of the same processes, one after another;
- `children:io`, /proc/self/io, which includes what ended children of this process read and wrote;
- `stack:network`, `stack:blocks`, which devices of the host are below which others;
- `children:rusage`, user and system seconds of the ended children of this process (getrusage(2)).
"""


def of_tenant(path: str, number: int) -> str:
    """Name of a file in the guest of a tenant, as a key of a snapshot; the first tenant is 1."""
    return path if number == 1 else f"{path} of tenant {number}"


def risen(pairs: Iterable[tuple[int, int]]) -> float | None:
    """Sum of the increases of counters; None if one fell: it was reset, or wrapped around."""
    increases = [last - first for first, last in pairs]
    return None if any(one < 0 for one in increases) else float(sum(increases))


class Probe(Protocol):
    """Names the files of counters to read, and computes samples from their contents."""

    name: str

    def paths(self, side: Side) -> tuple[str, ...]:
        """Files that the probe reads on `side` (`host` or `instance`), e.g. `/proc/stat`."""
        ...

    def samples(
        self, before: Snapshot, after: Snapshot, elapsed_s: float, side: Side
    ) -> tuple[Sample, ...]:
        """Samples for the time between two snapshots; none for a file that is missing in either."""
        ...
