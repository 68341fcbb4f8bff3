"""Limits of the control groups in which this process runs, from text files. Pure.

Inside a container only its own groups are visible, at the mount points of the hierarchies. Sources:
cgroups(7), proc_pid_mountinfo(5), Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst and
scheduler/sched-bwc.rst.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

import msgspec

_USUAL = (("cpu.shares", 1024), ("cpu.weight", 100))
"""Default weights of a group, in version 1 and 2."""
_LARGEST = 2**60
"""Memory limits of at least so many bytes mean no limit: version 1 shows its largest counter."""

Read = Callable[[Path], str]
"""Reads the text of a file; empty if there is none."""


class Limits(msgspec.Struct, frozen=True):
    """Limits on everything in our control groups together; None: there is no limit."""

    cpus: float | None = None
    """CPU time per second in s, by the smallest quota among the group and its ancestors."""
    memory_bytes: int | None = None


class _Group(msgspec.Struct, frozen=True):
    path: PurePosixPath
    """Path below the mount point of the hierarchy; empty: the mount point itself."""
    folder: Path


def held_back(memberships: str, mounts: str, read: Read) -> str:
    """Nearest group around a process with a low weight or a quota, and how; empty: none.

    The topmost visible group is not reported, because programs that we start are in it too.
    `memberships` is the text of /proc/PID/cgroup, `mounts` that of /proc/PID/mountinfo.
    """
    for group in _groups(memberships, mounts, "cpu"):
        if group.path.name and (how := _how(group.folder, read)):
            return f"{group.path}, which {how}"
    return ""


def limits(memberships: str, mounts: str, read: Read) -> Limits:
    """Smallest limits among our own groups and their visible ancestors."""
    quotas = [_quota(group.folder, read) for group in _groups(memberships, mounts, "cpu")]
    sizes = [_memory(group.folder, read) for group in _groups(memberships, mounts, "memory")]
    return Limits(
        cpus=min((quota for quota in quotas if quota is not None), default=None),
        memory_bytes=min((size for size in sizes if size is not None), default=None),
    )


def _groups(memberships: str, mounts: str, controller: str) -> Iterator[_Group]:
    """Our group in each hierarchy that may have the controller, followed by its ancestors."""
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
    """Path of a group relative to the mounted one; empty if it is the same, or not visible."""
    if path.is_relative_to(root) and ".." not in path.parts:
        return path.relative_to(root)
    return PurePosixPath()


def _plain(field: str) -> str:
    r"""A field with octal escapes decoded, e.g. \040 to a space."""
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
    """CPUs that a group may use by its quota; None: unlimited."""
    version_1 = f"{read(group / 'cpu.cfs_quota_us')} {read(group / 'cpu.cfs_period_us')}"
    quota, _, period = (read(group / "cpu.max") or version_1).partition(" ")
    if quota.isdecimal() and period.isdecimal() and int(period) > 0:
        return int(quota) / int(period)
    return None


def _memory(group: Path, read: Read) -> int | None:
    sizes = (read(group / "memory.max"), read(group / "memory.limit_in_bytes"))
    known = [int(size) for size in sizes if size.isdecimal()]
    return min((size for size in known if size < _LARGEST), default=None)
