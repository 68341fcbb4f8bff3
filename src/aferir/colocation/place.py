"""Finds the parent of the batch program's control group so that it never outranks the service.

Weights and `cpu.idle` compare only groups of the same parent. The batch's group is therefore
created as high in the hierarchy as possible, where it yields to everything on the machine, but
below every group that holds the service and yields itself: see
docs/decisions/batch-below-what-holds-its-service.md.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from pathlib import Path, PurePosixPath

import msgspec

from aferir.colocation.service import ServiceSpec
from aferir.linux.cgroup import Layout

SHARES = 1_024
"""Default of cpu.shares in version 1, equivalent to weight 100 in version 2."""
_WEIGHT = 100
_LOW = 0.1
"""Share of the default weight below which a group's weight is low: an idle group weighs 3 beside
1,024, so that an idle batch beside it would get 3 % or more.
"""
_IDLE = 3 / SHARES
DELEGATED = ("cpu", "io", "memory")
"""Controllers of version 2 that a group needs. `cpuset` is not among them: before Linux 6.2,
switching it on below a group reset the affinity of everything in it (cpuset_attach in
kernel/cgroup/cpuset.c)."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Place of the batch's group in the hierarchy of the CPU controller."""

    parent: Path
    """Group below which the batch's group is created."""
    share: float = 1.0
    """Factor for all weights of the batch, at most 1: the lowest weight of a service's group next
    to the batch's group, divided by the default weight.
    """
    low: Path | None = None
    """The service's group beside the batch's, if the batch outranks it because its weight is low
    and no deeper place is possible. None: the batch outranks nothing.
    """

    @property
    def problem(self) -> str:
        """Why the batch program cannot be ranked below the service; "" if it can."""
        if self.low is None:
            return ""
        return (
            f"the service's control group {self.low} is idle or has hardly any weight: "
            "the batch program cannot be ranked below it, but for its quota"
        )


def beside(services: Sequence[tuple[ServiceSpec, Sequence[int]]], have: Layout) -> Place | None:
    """Find the place for the batch beside services, given with the processes of each.

    None if no hierarchy is mounted.
    """
    root = have.v1.get("cpu") or have.v2
    if root is None:
        return None
    controller = "cpu" if "cpu" in have.v1 else ""
    folders = {
        _folder(root, own_group(spec, found))
        for spec, pids in services
        for pid in pids
        if (found := group_of(_memberships(pid), controller)) is not None
    }
    # All processes of a named group are the service's, and in version 2 a group cannot have both
    # processes and subgroups.
    named = any(spec.kind in ("cgroup", "unit") for spec, _ in services)
    may_enter = bool(controller) and not named
    return below(root, folders, may_enter=may_enter)


def group_of(memberships: str, controller: str) -> PurePosixPath | None:
    """Path of a process's group, from the text of /proc/PID/cgroup.

    `controller`: "" for version 2. None if the group is outside of the visible part of the
    hierarchy (cgroup_namespaces(7)).
    """
    for line in memberships.splitlines():
        number, controllers, path = line.split(":", 2)
        if controller in controllers.split(",") and (controller or number == "0"):
            inside = PurePosixPath(path.lstrip("/"))
            return None if ".." in inside.parts else inside
    return None


def own_group(spec: ServiceSpec, path: PurePosixPath) -> PurePosixPath:
    """The group of the whole service: its named group if `path` is within it, else `path`."""
    if spec.group and path.is_relative_to(spec.group):
        return PurePosixPath(spec.group)
    if spec.unit in path.parts:
        return PurePosixPath(*path.parts[: path.parts.index(spec.unit) + 1])
    return path


def below(root: Path, service: Collection[Path], *, may_enter: bool) -> Place:
    """The highest place at which the batch cannot outrank the service.

    `service`: groups of the service. The search descends from the root into a group if this holds
    all of the service and has a low weight: outside of it, even an idle batch would take CPU time
    from the service. `may_enter`: whether the service's own group may be entered too.
    """
    parent = root
    while service and parent not in service:
        held = {parent / folder.relative_to(parent).parts[0] for folder in service}
        share = min(_share(group) for group in held)
        group = min(held)
        enters = len(held) == 1 and (may_enter or group not in service) and takes_groups(group)
        if share >= _LOW or not enters:
            low = min(held, key=_share) if share < _LOW else None
            return Place(parent=parent, share=min(share, 1.0), low=low)
        parent = group
    return Place(parent=parent)


def takes_groups(group: Path) -> bool:
    """Whether a subgroup of it could have a weight and processes; in version 1 always.

    In version 2 it cannot if the group is threaded, or has processes of its own (cgroup-v2.rst,
    "Threads" and "No Internal Process Constraint"). The root is exempt; it alone has no
    `cgroup.type`.
    """
    kind = _text(group / "cgroup.type")
    return not kind or (
        kind == "domain" and not (not_delegated(group) and _text(group / "cgroup.procs"))
    )


def make_room(group: Path) -> str:
    """Remedy if processes directly in the group keep it from having subgroups."""
    return (
        f"move the processes of {group} into a group within it: version 2 has none beside groups"
        " that share out CPUs; or run aferir on the host of this container"
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _share(group: Path) -> float:
    """Weight of a group among its siblings, divided by the default weight."""
    if _number(group / "cpu.idle", 0):
        return _IDLE
    return min(
        _number(group / "cpu.shares", SHARES) / SHARES,
        _number(group / "cpu.weight", _WEIGHT) / _WEIGHT,
    )


def _number(path: Path, usual: int) -> int:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):  # the controller is off there, so the group has no weight
        return usual


def _folder(root: Path, path: PurePosixPath) -> Path:
    """The group's folder, or the root if the path is only valid on a container's host."""
    folder = root / path
    return folder if folder.is_dir() else root


def group_of_pid(pid: int, controller: str) -> PurePosixPath | None:
    """Path of a process's group, as `group_of`; None if the process has ended."""
    return group_of(_memberships(pid), controller)


def _memberships(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def not_delegated(parent: Path) -> tuple[str, ...]:
    """Controllers of version 2 that groups below `parent` need and could have, but lack."""
    try:
        able = (parent / "cgroup.controllers").read_text(encoding="ascii").split()
        on = (parent / "cgroup.subtree_control").read_text(encoding="ascii").split()
    except OSError:
        return ()
    return tuple(one for one in DELEGATED if one in able and one not in on)


_USUAL = {
    "cpu.weight": "100",
    "cpu.idle": "0",
    "cpu.max": "max 100000",
    "cpuset.cpus": "",
    "memory.low": "0",
    "memory.high": "max",
    "memory.max": "max",
    "io.max": "",
    "io.weight": "default 100",
    "io.bfq.weight": "default 100",
}


def take_back(parent: Path, controllers: Sequence[str]) -> None:
    """Switch off the controllers that were switched on for the batch, unless they are in use."""
    with contextlib.suppress(OSError):  # the parent has gone
        if any(_is_used(path) for path in parent.iterdir() if path.is_dir()):
            return
    for controller in controllers:
        with contextlib.suppress(OSError):  # a group below has delegated it further
            (parent / "cgroup.subtree_control").write_text(f"-{controller}", encoding="ascii")


def _is_used(group: Path) -> bool:
    """Whether the group is another run's, or somebody has changed a controller's settings in it."""
    return group.name.startswith("aferir-") or any(
        _text(group / file) not in ("", usual) for file, usual in _USUAL.items()
    )
