"""Privileges that co-location needs, and which of them are missing (capabilities(7))."""

from __future__ import annotations

import os
import re
from pathlib import Path

from aferir.colocation import admission, place
from aferir.colocation.place import Place
from aferir.errors import MissingError
from aferir.linux import cgroup
from aferir.machine.privileges import as_root_command
from aferir.model.finding import Finding

_CAP_SYS_NICE = 23


def has_capability(number: int, status: str) -> bool:
    """Whether a capability is effective, from the text of /proc/PID/status."""
    found = re.search(r"^CapEff:\s*([0-9a-f]+)$", status, re.MULTILINE)
    return bool(found and int(found[1], 16) >> number & 1)


def findings(where: Place | None = None) -> list[Finding]:
    """Findings on CAP_SYS_NICE, control groups, and the kernel's account of reservations.

    `where`: place of the batch program's group, if the service is known.
    """
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return [_scheduling(status), _groups(where), _account()]


def check(where: Place | None = None) -> None:
    """Check that no indispensable privilege is missing.

    Errors: MissingError that names all missing ones.
    """
    missing = [finding for finding in findings(where) if finding.status == "missing"]
    if missing:
        raise MissingError(
            "; ".join(finding.message for finding in missing),
            remedy="; ".join(dict.fromkeys(finding.remedy for finding in missing)),
        )


def _scheduling(status: str) -> Finding:
    if has_capability(_CAP_SYS_NICE, status):
        return Finding("scheduling", "ok", "CAP_SYS_NICE: any thread may be scheduled")
    said = "CAP_SYS_NICE is missing: the service's threads cannot be scheduled"
    return Finding("scheduling", "missing", said, as_root_command())


def _groups(where: Place | None) -> Finding:
    have = cgroup.layout()
    parent = where.parent if where else have.v1.get("cpu") or have.v2
    if parent is None:
        said = "no control groups are mounted: the batch program cannot be held"
        return Finding("cgroups", "missing", said, "mount -t cgroup2 none /sys/fs/cgroup")
    if not os.access(parent, os.W_OK):
        said = f"{parent} may not be written: no control group for the batch program"
        return Finding("cgroups", "missing", said, as_root_command())
    if parent == have.v2 and not place.takes_groups(parent):
        said = f"{parent} has processes: no control group for the batch program can be made in it"
        return Finding("cgroups", "missing", said, place.make_room(parent))
    if where and where.problem:
        remedy = f"run the service where it has the default weight, not in {where.low}"
        return Finding("cgroups", "degraded", where.problem, remedy)
    return Finding("cgroups", "ok", f"the batch program's control group may be made in {parent}")


def _account() -> Finding:
    account = admission.read_bandwidth()
    if account is None:
        said = "debugfs may not be read: what deadlines others hold is not known"
        return Finding("deadline-bandwidth", "degraded", said, as_root_command())
    free = account.free_cpus(os.cpu_count() or 1)
    return Finding("deadline-bandwidth", "ok", f"{free:.2f} CPUs may be reserved for deadlines")
