"""The Protocol of probes: a snapshot before, one after, and a pure difference."""

from __future__ import annotations

from typing import Protocol

from aferir.model.record import Sample, Side

Snapshot = dict[str, str]
"""Contents of text files by path; a file that does not exist on that side is left out.

A path is that of a file in /proc or /sys of the side that is read, or one of these names, which
whoever takes the snapshot resolves on the host for the instance that runs:

- `cgroup:CONTROLLER/FILE`, e.g. `cgroup:cpuacct/cpuacct.usage`, in the instance's control group;
- `process:stat`, /proc/PID/stat of the processes that are the instance, a line each;
- `process:processors`, the same file of each thread that is a processor of a guest;
- `process:io`, /proc/PID/io of the same processes, one after the other;
- `children:io`, /proc/self/io, which holds what ended children of this process read and wrote;
- `stack:network`, `stack:blocks`, which devices of the host are over which others;
- `children:rusage`, user and system seconds of the ended children of this process (getrusage(2)).
"""


def of_tenant(path: str, number: int) -> str:
    """Where a file of the guest that is that tenant is in a snapshot; the first one is 1."""
    return path if number == 1 else f"{path} of tenant {number}"


class Probe(Protocol):
    """A probe names the files it wants; arithmetic is apart from reading."""

    name: str

    def paths(self, side: Side) -> tuple[str, ...]:
        """Files that it wants on that side, `host` or `instance`, e.g. `/proc/stat`."""
        ...

    def samples(
        self, before: Snapshot, after: Snapshot, elapsed_s: float, side: Side
    ) -> tuple[Sample, ...]:
        """What happened in between; nothing for a file that was missing in either snapshot."""
        ...
