"""Where the batch program's control group is made, so that it never outranks the service.

Weights and `cpu.idle` count among the groups of one parent only. So the batch's group is made as
high as can be, where it gives way to everybody on the machine, but below every group that holds
the service and gives way itself: see docs/decisions/batch-below-what-holds-its-service.md.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from pathlib import Path, PurePosixPath

import msgspec

from aferir.colocation.service import ServiceSpec
from aferir.linux.cgroup import Layout

SHARES = 1_024
"""cpu.shares of version 1 that is weight 100 of version 2: what everybody has."""
_WEIGHT = 100
_LOW = 0.1
"""Share of what everybody has: an idle group counts 3 beside 1,024, so that it would get 3 % or
more."""
_IDLE = 3 / SHARES
DELEGATED = ("cpu",)
"""Controllers of version 2 that a group is to have. Before Linux 6.2 switching `cpuset` on below a
group set the affinity of everything in it anew (cpuset_attach in kernel/cgroup/cpuset.c)."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where in the hierarchy that shares out the CPUs."""

    parent: Path
    """The group below which the batch's is made."""
    share: float = 1.0
    """Weight of the service's group beside it, 1: what everybody has, and at most."""
    low: Path | None = None
    """The service's group beside it, where that gives way itself and nothing deeper is possible."""

    @property
    def problem(self) -> str:
        """A sentence where the batch program cannot be ranked below the service."""
        if self.low is None:
            return ""
        return (
            f"the service's control group {self.low} is idle or has hardly any weight: "
            "the batch program cannot be ranked below it, but for its quota"
        )


def beside(spec: ServiceSpec, pids: Sequence[int], have: Layout) -> Place | None:
    """The place for a service of these processes; None where no groups are mounted."""
    root = have.v1.get("cpu") or have.v2
    if root is None:
        return None
    controller = "cpu" if "cpu" in have.v1 else ""
    folders = {
        _folder(root, own_group(spec, found))
        for pid in pids
        if (found := group_of(_memberships(pid), controller)) is not None
    }
    # Processes of a group that is named are the service's, and version 2 has none beside groups.
    may_enter = bool(controller) and spec.kind not in ("cgroup", "unit")
    return below(root, folders, may_enter=may_enter)


def group_of(memberships: str, controller: str) -> PurePosixPath | None:
    """Path of a process's group in the text of /proc/PID/cgroup; `controller` "": version 2.

    None where it is outside of what we see of the hierarchy (cgroup_namespaces(7)).
    """
    for line in memberships.splitlines():
        number, controllers, path = line.split(":", 2)
        if controller in controllers.split(",") and (controller or number == "0"):
            inside = PurePosixPath(path.lstrip("/"))
            return None if ".." in inside.parts else inside
    return None


def own_group(spec: ServiceSpec, path: PurePosixPath) -> PurePosixPath:
    """The group that stands for the whole service: the named one instead of one within it."""
    if spec.group and path.is_relative_to(spec.group):
        return PurePosixPath(spec.group)
    if spec.unit in path.parts:
        return PurePosixPath(*path.parts[: path.parts.index(spec.unit) + 1])
    return path


def below(root: Path, service: Collection[Path], *, may_enter: bool) -> Place:
    """The highest place at which the batch cannot outrank the service, whose groups these are.

    From the root down into whatever group holds all of the service and gives way to others:
    among those within it the service has its rank. `may_enter`: even into the service's own.
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
    """Whether one more group in it could have a rank and processes; in version 1 always.

    In version 2 not where threads are a group's members, and not where processes stand beside the
    groups (cgroup-v2.rst, "Threads" and "No Internal Process Constraint"), but for the root, which
    alone has no type.
    """
    kind = _text(group / "cgroup.type")
    return not kind or (
        kind == "domain" and not (not_delegated(group) and _text(group / "cgroup.procs"))
    )


def make_room(group: Path) -> str:
    """What to do where it takes none for its processes."""
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
    """Weight of a group among those of its parent, 1: what everybody has."""
    if _number(group / "cpu.idle", 0):
        return _IDLE
    return min(
        _number(group / "cpu.shares", SHARES) / SHARES,
        _number(group / "cpu.weight", _WEIGHT) / _WEIGHT,
    )


def _number(path: Path, usual: int) -> int:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):  # the controller is not on there: groups do not count
        return usual


def _folder(root: Path, path: PurePosixPath) -> Path:
    """The root instead of what is mounted elsewhere: a container's path as its host names it."""
    folder = root / path
    return folder if folder.is_dir() else root


def _memberships(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def not_delegated(parent: Path) -> tuple[str, ...]:
    """Controllers of version 2 that groups below `parent` lack and could have."""
    try:
        able = (parent / "cgroup.controllers").read_text(encoding="ascii").split()
        on = (parent / "cgroup.subtree_control").read_text(encoding="ascii").split()
    except OSError:
        return ()
    return tuple(one for one in DELEGATED if one in able and one not in on)


_USUAL = {"cpu.weight": "100", "cpu.idle": "0", "cpu.max": "max 100000", "cpuset.cpus": ""}


def take_back(parent: Path, controllers: Sequence[str]) -> None:
    """Switch controllers off again that we had switched on, unless somebody uses them by now."""
    with contextlib.suppress(OSError):  # the parent has gone
        if any(_is_used(path) for path in parent.iterdir() if path.is_dir()):
            return
    for controller in controllers:
        with contextlib.suppress(OSError):  # a group below has handed it on
            (parent / "cgroup.subtree_control").write_text(f"-{controller}", encoding="ascii")


def _is_used(group: Path) -> bool:
    """Whether it is of another run of ours, or somebody has set anything of what we switched on."""
    return group.name.startswith("aferir-") or any(
        (group / file).exists() and (group / file).read_text(encoding="ascii").strip() != usual
        for file, usual in _USUAL.items()
    )
