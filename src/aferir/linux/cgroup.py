"""Control groups, version 1 and 2: mounted hierarchies, limits, and reliable removal.

Sources: cgroups(7), Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/cpusets.rst,
Documentation/scheduler/sched-bwc.rst of the kernel.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import signal
from collections.abc import Collection, Iterable, Iterator
from functools import partial
from pathlib import Path

import msgspec

from aferir.errors import MissingError
from aferir.linux import undo
from aferir.linux.wait import MONOTONIC, Clock, after, until_it_works

_SLICE_US = 5_000
"""Slice of a quota in us that the kernel assigns at a time (Documentation/scheduler/sched-bwc.rst).
With a quota below one slice (1.8 ms in each 2 ms) a program was slowed by 45 % instead of 11 %.
"""
_PERIOD_US = (10_000, 1_000_000)
"""Shortest and longest period of the CPU quota in us. With the kernel's default of 100 ms, a
program shorter than 90 ms is not limited by a quota of 0.9 at all; the kernel's longest is 1 s.
"""
_V1 = ("cpu", "cpuacct", "cpuset", "memory", "blkio", "freezer", "devices", "pids")
_ESCAPE = re.compile(r"\\([0-7]{3})")
_LIVELY = (
    ("freezer.state", "THAWED"),
    ("cgroup.freeze", "0"),
    ("cpu.idle", "0"),
    ("cpu.cfs_quota_us", "-1"),
    ("cpu.max", "max"),
    ("cpu.shares", "262144"),
    ("cpu.weight", "10000"),
)
"""Files of both versions, with values to write so that killed members of a group can exit."""


class Layout(msgspec.Struct, frozen=True):
    """Mount points of the host's control groups."""

    v1: dict[str, Path] = {}
    """Root of each version-1 hierarchy, by controller."""
    v2: Path | None = None
    v2_controllers: tuple[str, ...] = ()

    def has(self, controller: str) -> bool:
        """True if that controller is available, in either version."""
        return controller in self.v1 or controller in self.v2_controllers

    def roots(self) -> tuple[Path, ...]:
        """Roots of all hierarchies."""
        return tuple(dict.fromkeys([*self.v1.values(), *([self.v2] if self.v2 else [])]))


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits that apply to all members of a group together; None: no limit."""

    cpus: float | None = None
    """CPU seconds per second that all members together may use."""
    memory_bytes: int | None = None
    nice: int | None = None
    """Weight of all members together, equal to that of one process with this nice value."""
    accounted: bool = False
    """True if groups are made even without a limit, to read the resource use of the members."""


_ACCOUNTS = ("cpuacct", "blkio")
_ACCOUNTS_V2 = ("io", "memory")
"""Controllers of version 2 that attribute writeback to its writer (cgroup-v2.rst, Writeback)."""
_PRIVILEGED = "start aferir on the host itself, or in a container with control groups of its own"


def parse_mounts(text: str) -> tuple[dict[str, Path], Path | None]:
    """Hierarchies listed in /proc/self/mounts: (root by v1 controller, root of v2)."""
    v1: dict[str, Path] = {}
    v2: Path | None = None
    for line in text.splitlines():
        fields = line.split(" ")
        if len(fields) < 4:
            continue
        folder = Path(_ESCAPE.sub(lambda found: chr(int(found[1], 8)), fields[1]))
        if fields[2] == "cgroup2":
            v2 = v2 or folder
        elif fields[2] == "cgroup":
            options = fields[3].split(",")
            for name in [*_V1, "name=systemd"]:
                if name in options:
                    v1.setdefault(name, folder)
    return v1, v2


def may_be_made(have: Layout) -> bool:
    """True if we may make groups: as root, and not in a container with read-only groups."""
    roots = have.roots()
    return os.geteuid() == 0 and bool(roots) and all(os.access(root, os.W_OK) for root in roots)


def layout() -> Layout:
    """Hierarchies that this host mounts."""
    v1, v2 = parse_mounts(Path("/proc/self/mounts").read_text(encoding="utf-8"))
    controllers: tuple[str, ...] = ()
    if v2 is not None:
        with contextlib.suppress(OSError):
            controllers = tuple((v2 / "cgroup.controllers").read_text(encoding="ascii").split())
    return Layout(v1, v2, controllers)


def bandwidth_us(cpus: float) -> tuple[int, int]:
    """Quota and period in us, with the shortest period for which the quota is a whole slice.

    The kernel refuses quotas below 1 ms, which a period of at most 1 s reaches at 0.001 CPUs.
    """
    shortest, longest = _PERIOD_US
    period = min(max(round(_SLICE_US / cpus), shortest), longest)
    return max(round(cpus * period), 1_000), period


def weight_of(nice: int) -> int:
    """Weight (`cpu.shares`) of a process with nice value `nice`: each step is a factor of 1.25.

    Source: sched_prio_to_weight in kernel/sched/core.c, from which it differs by at most one.
    """
    return round(1024 / 1.25**nice)


def settings(limits: Limits, have: Layout) -> list[tuple[Path, str, str]]:
    """Files to write for `limits`, in order: (root of the hierarchy, file, value).

    Errors: MissingError if neither version has the controller.
    """
    wanted: list[tuple[Path, str, str]] = []
    if limits.cpus is not None:
        quota, period = bandwidth_us(limits.cpus)
        if root := have.v1.get("cpu"):
            wanted += [(root, "cpu.cfs_period_us", str(period))]
            wanted += [(root, "cpu.cfs_quota_us", str(quota))]
        else:
            wanted += [(_v2_root(have, "cpu"), "cpu.max", f"{quota} {period}")]
    if limits.nice is not None:  # where there are no weights, nobody has one
        if root := have.v1.get("cpu"):
            wanted += [(root, "cpu.shares", str(weight_of(limits.nice)))]
        elif have.v2 is not None and "cpu" in have.v2_controllers:
            wanted += [(have.v2, "cpu.weight.nice", str(limits.nice))]
    if limits.memory_bytes is not None:
        if root := have.v1.get("memory"):
            wanted += [(root, "memory.limit_in_bytes", str(limits.memory_bytes))]
        else:
            root = _v2_root(have, "memory")
            wanted += [
                (root, "memory.max", str(limits.memory_bytes)),
                (root, "memory.swap.max", "0"),
            ]
    return wanted


def make(name: str, limits: Limits, have: Layout) -> dict[str, Path]:
    """Make groups called `name` with `limits`; returns folders by controller (or `unified`).

    Journal `name` first. Errors: MissingError if it is not permitted or there is no controller.
    """
    wanted = settings(limits, have)
    folders: dict[str, Path] = {}
    try:
        for controller, root in _accounts(have) if limits.accounted else ():
            folders[controller] = root / name
            folders[controller].mkdir(exist_ok=True)
        for root, file, value in wanted:
            folder = root / name
            controller = file.partition(".")[0]
            if root == have.v2:
                delegate(root, controller)
                controller = "unified"
            folder.mkdir(exist_ok=True)
            folders[controller] = folder
            try:
                (folder / file).write_text(value, encoding="ascii")
            except FileNotFoundError:
                if file != "memory.swap.max":  # a kernel without swap has no such file
                    raise
    except OSError as error:
        raise MissingError(
            f"control group {name} cannot be made: {error}",
            remedy=_PRIVILEGED if error.errno == errno.EROFS else "run as root: sudo aferir ...",
        ) from None
    return folders


def _accounts(have: Layout) -> Iterator[tuple[str, Path]]:
    """Hierarchies that account for their members; in version 2 even without a limit."""
    yield from ((name, have.v1[name]) for name in _ACCOUNTS if name in have.v1)
    if have.v2 is not None:
        for controller in set(_ACCOUNTS_V2) & set(have.v2_controllers):
            delegate(have.v2, controller)
        yield "unified", have.v2


def find(name: str, have: Layout, below: Iterable[Path] = ()) -> list[Path]:
    """Groups called `name` or `name-...` at the roots, below our own group and below `below`."""
    own = tuple(_own_paths())
    bases = {root / path for root in have.roots() for path in ("", *own)}
    found = {path for base in bases.union(below) for path in base.glob(f"{name}*")}
    return sorted(path for path in found if _named(path.name, name) and path.is_dir())


def members(folder: Path) -> set[int]:
    """Processes in a group and in its descendants."""
    pids: set[int] = set()
    for path in [folder, *_below(folder)]:
        try:
            pids |= _numbers(path / "cgroup.procs")
        except OSError as error:
            if error.errno == errno.EOPNOTSUPP:  # its members are threads
                pids |= _of_threads(path)
    return pids


def _of_threads(group: Path) -> set[int]:
    """Processes of the threads in a threaded group (cgroup-v2.rst, "Threads")."""
    pids: set[int] = set()
    with contextlib.suppress(OSError):
        for thread in _numbers(group / "cgroup.threads"):
            status = Path(f"/proc/{thread}/status").read_text(encoding="utf-8", errors="replace")
            pids |= {int(found) for found in re.findall(r"^Tgid:\s*(\d+)$", status, re.MULTILINE)}
    return pids


def _numbers(path: Path) -> set[int]:
    return {int(number) for number in path.read_text(encoding="ascii").split()}


def remove(
    name: str,
    have: Layout,
    below: Collection[Path] = (),
    *,
    wait_s: float = undo.DYING_S,
    clock: Clock = MONOTONIC,
) -> None:
    """Kill all processes in the groups called `name` and remove the groups, if there are any.

    The groups are those that `find` returns. Errors: OSError if one is left.
    """

    def removed() -> None:
        folders = find(name, have, below)
        for folder in folders:
            let_die(folder)
        for folder in folders:
            undo.send_all(partial(members, folder), signal.SIGKILL)
        for folder in folders:
            _die_elsewhere(folder, name, have)
        undo.each(_remove_empty, folders)
        if left := find(name, have, below):
            raise OSError(errno.EBUSY, "a control group was made meanwhile", str(left[0]))

    until_it_works(removed, OSError, after(wait_s, clock), clock, period_s=0.005)


def _remove_empty(folder: Path) -> None:
    """Remove a group and its descendants. Errors: OSError if one has members."""
    with contextlib.suppress(FileNotFoundError):
        for path in [*_below(folder), folder]:
            path.rmdir()


def let_die(folder: Path) -> None:
    """Remove what would prevent processes of the group, and of those below, from dying by SIGKILL.

    A frozen process does not die until it is thawed (freezer-subsystem.rst), nor does one that gets
    no CPU time because of its weight or quota: exiting takes some.
    """
    for group in [folder, *_below(folder)]:
        for file, value in _LIVELY:
            if (group / file).exists():
                with contextlib.suppress(OSError):
                    (group / file).write_text(value, encoding="ascii")


def _die_elsewhere(folder: Path, name: str, have: Layout) -> None:
    """Move a group's dying processes to a group at the root, whose name `find` matches too.

    Inside a parent with hardly any weight they would die slowly, whatever the weight of their own
    group.
    """
    root = next((root for root in have.roots() if root in folder.parents), folder.parent)
    if root == folder.parent or not (pids := members(folder)):
        return
    if not any((folder / file).exists() for file in ("cpu.shares", "cpu.weight")):
        return
    other = root / f"{name}-dying"
    for pid in pids:
        with contextlib.suppress(OSError):  # it is dead, or the root is not ours to write
            other.mkdir(exist_ok=True)
            (other / "cgroup.procs").write_text(str(pid), encoding="ascii")


def _below(folder: Path) -> list[Path]:
    """Groups below `folder`, the deepest first, as rmdir(2) requires."""
    return [Path(path) for path, _, _ in os.walk(folder, topdown=False) if Path(path) != folder]


def _named(found: str, name: str) -> bool:
    return found == name or found.startswith(f"{name}-")


def leave(prefix: str, have: Layout) -> None:
    """Move this process out of its groups whose name begins with `prefix`, to their parents.

    Hierarchies where that is not permitted stay as they are.
    """
    for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
        _, controllers, path = line.split(":", 2)
        known = [have.v1[one] for one in controllers.split(",") if one in have.v1]
        root = known[0] if known else have.v2
        if root is not None and Path(path).name.startswith(prefix):
            with contextlib.suppress(OSError):
                parent = root / Path(path).parent.relative_to("/")
                (parent / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")


def _own_paths() -> Iterator[str]:
    text = Path("/proc/self/cgroup").read_text(encoding="utf-8")
    for line in text.splitlines():
        path = line.split(":", 2)[2].lstrip("/")
        if path:
            yield path


def _v2_root(have: Layout, controller: str) -> Path:
    if have.v2 is None or controller not in have.v2_controllers:
        raise MissingError(
            f"this host mounts no control group hierarchy with the `{controller}` controller",
            remedy=f"mount one: mount -t cgroup -o {controller} none /sys/fs/cgroup/{controller}",
        )
    return have.v2


def delegate(parent: Path, controller: str) -> None:
    """Enable `controller` in the groups below a group of version 2. Errors: OSError."""
    control = parent / "cgroup.subtree_control"
    if controller not in control.read_text(encoding="ascii").split():
        control.write_text(f"+{controller}", encoding="ascii")
