"""The control groups that this process runs in, and what they take from it: pure reading of text.

Of a container around us only its own groups are seen: they are where the hierarchies are mounted.
Sources: cgroups(7), proc_pid_mountinfo(5), Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/
memory.rst and scheduler/sched-bwc.rst.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

import msgspec

_USUAL = (("cpu.shares", 1024), ("cpu.weight", 100))
"""What a group has unless somebody sets it, in version 1 and 2."""
_LARGEST = 2**60
"""A limit of memory beyond that is none: version 1 writes what fits into its counter."""

Read = Callable[[Path], str]
"""The text of a file, empty where there is none."""


class Limits(msgspec.Struct, frozen=True):
    """What all that runs in our control groups may use together; None: no limit."""

    cpus: float | None = None
    """CPU time for each second, by the smallest quota of the groups above."""
    memory_bytes: int | None = None


class _Group(msgspec.Struct, frozen=True):
    path: PurePosixPath
    """Below where the hierarchy is mounted; empty: that is it."""
    folder: Path


def held_back(memberships: str, mounts: str, read: Read) -> str:
    """The nearest group around a process that ranks low or has a quota, and how; empty: none.

    A group at the top of what is mounted is not told: others that we start are in it too.
    `memberships`: text of /proc/PID/cgroup; `mounts`: of /proc/PID/mountinfo.
    """
    for group in _groups(memberships, mounts, "cpu"):
        if group.path.name and (how := _how(group.folder, read)):
            return f"{group.path}, which {how}"
    return ""


def limits(memberships: str, mounts: str, read: Read) -> Limits:
    """The smallest limits of our own groups and all above that can be seen."""
    quotas = [_quota(group.folder, read) for group in _groups(memberships, mounts, "cpu")]
    sizes = [_memory(group.folder, read) for group in _groups(memberships, mounts, "memory")]
    return Limits(
        cpus=min((quota for quota in quotas if quota is not None), default=None),
        memory_bytes=min((size for size in sizes if size is not None), default=None),
    )


def _groups(memberships: str, mounts: str, controller: str) -> Iterator[_Group]:
    """Our group of each hierarchy that can have the controller, then all above it."""
    for line in mounts.splitlines():
        fields, _, rest = line.partition(" - ")
        _, _, _, root, point, *_ = [*fields.split(" "), "", "", "", "", ""]
        kind, _, options, *_ = [*rest.split(" "), "", "", ""]
        if kind == "cgroup2" or (kind == "cgroup" and controller in options.split(",")):
            path = _path(memberships, controller if kind == "cgroup" else "")
            own = _below(path, PurePosixPath(_plain(root)))
            for group in dict.fromkeys((own, *own.parents)):
                yield _Group(group, Path(_plain(point)) / group)


def _path(memberships: str, controller: str) -> PurePosixPath:
    for line in memberships.splitlines():
        number, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controller in controllers.split(",") and (controller or number == "0"):
            return PurePosixPath("/") / path
    return PurePosixPath("/")


def _below(path: PurePosixPath, root: PurePosixPath) -> PurePosixPath:
    """A group as seen from the one that is mounted; empty where it is that, or out of sight."""
    if path.is_relative_to(root) and ".." not in path.parts:
        return path.relative_to(root)
    return PurePosixPath()


def _plain(field: str) -> str:
    r"""A space is written as \040, and so on."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), field)


def _how(group: Path, read: Read) -> str:
    if read(group / "cpu.idle") == "1":
        return "is idle: it gives way to all others"
    for file, usual in _USUAL:
        weight = read(group / file)
        if weight.isdecimal() and int(weight) < usual:
            return f"has a weight of {weight}, where {usual} is usual"
    quota = _quota(group, read)
    return "" if quota is None else f"may use {quota:g} CPUs"


def _quota(group: Path, read: Read) -> float | None:
    """CPUs that a group may use; None: all of them."""
    version_1 = f"{read(group / 'cpu.cfs_quota_us')} {read(group / 'cpu.cfs_period_us')}"
    quota, _, period = (read(group / "cpu.max") or version_1).partition(" ")
    if quota.isdecimal() and period.isdecimal() and int(period) > 0:
        return int(quota) / int(period)
    return None


def _memory(group: Path, read: Read) -> int | None:
    sizes = (read(group / "memory.max"), read(group / "memory.limit_in_bytes"))
    known = [int(size) for size in sizes if size.isdecimal()]
    return min((size for size in known if size < _LARGEST), default=None)
