"""The control groups that this process runs in, and what they take from it: pure reading of text.

Sources: cgroups(7), Documentation/admin-guide/cgroup-v2.rst and scheduler/sched-design-CFS.rst.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path, PurePosixPath

_USUAL = (("cpu.shares", 1024), ("cpu.weight", 100))
"""What a group has unless somebody sets it, in version 1 and 2."""


def held_back(memberships: str, mounts: str, read: Callable[[Path], str]) -> str:
    """The nearest group around a process that ranks low or has a quota, and how; empty: none.

    `memberships`: text of /proc/PID/cgroup; `mounts`: of /proc/PID/mounts; `read` gives the text of
    a file, empty where there is none.
    """
    for line in mounts.splitlines():
        _, point, kind, options, *_ = [*line.split(" "), "", "", "", ""]
        if kind == "cgroup2" or (kind == "cgroup" and "cpu" in options.split(",")):
            path = _path(memberships, "cpu" if kind == "cgroup" else "")
            for group in (path, *path.parents):
                if group.name and (how := _how(Path(point) / group, read)):
                    return f"{group}, which {how}"
    return ""


def _path(memberships: str, controller: str) -> PurePosixPath:
    for line in memberships.splitlines():
        number, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controller in controllers.split(",") and (controller or number == "0"):
            return PurePosixPath(path.lstrip("/"))
    return PurePosixPath()


def _how(group: Path, read: Callable[[Path], str]) -> str:
    if read(group / "cpu.idle") == "1":
        return "is idle: it gives way to all others"
    for file, usual in _USUAL:
        weight = read(group / file)
        if weight.isdecimal() and int(weight) < usual:
            return f"has a weight of {weight}, where {usual} is usual"
    quota, _, period = (read(group / "cpu.max") or _quota_of_version_1(group, read)).partition(" ")
    if quota.isdecimal() and period.isdecimal() and int(period) > 0:
        return f"may use {int(quota) / int(period):g} CPUs"
    return ""


def _quota_of_version_1(group: Path, read: Callable[[Path], str]) -> str:
    return f"{read(group / 'cpu.cfs_quota_us')} {read(group / 'cpu.cfs_period_us')}"
