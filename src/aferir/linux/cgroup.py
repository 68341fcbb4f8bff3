"""Control groups, version 1 and 2: what the host mounts, limits as files, removal for certain.

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
from pathlib import Path

import msgspec

from aferir.errors import MissingError
from aferir.linux import undo
from aferir.linux.wait import MONOTONIC, Clock, after, until_it_works

_SLICE_US = 5_000
"""What the kernel hands out of a quota at a time (Documentation/scheduler/sched-bwc.rst). With a
quota below it, 1.8 of 2 ms, a program was slowed by 45 % instead of 11 %."""
_PERIOD_US = (10_000, 1_000_000)
"""Shortest and longest period of the CPU quota. The kernel's default is 100 ms, within which a
program of less than 90 ms does not feel a quota of 0.9 at all; its longest is 1 s."""
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
"""Files of both versions and what they are to hold while a group is given up."""


class Layout(msgspec.Struct, frozen=True):
    """Where the host mounts what."""

    v1: dict[str, Path] = {}
    """Controller to the root of its hierarchy."""
    v2: Path | None = None
    v2_controllers: tuple[str, ...] = ()

    def has(self, controller: str) -> bool:
        """Whether that controller can be used, in either version."""
        return controller in self.v1 or controller in self.v2_controllers

    def roots(self) -> tuple[Path, ...]:
        """Roots of all hierarchies."""
        return tuple(dict.fromkeys([*self.v1.values(), *([self.v2] if self.v2 else [])]))


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What the members of a group may use together; None: no limit."""

    cpus: float | None = None
    """CPU seconds per second."""
    memory_bytes: int | None = None
    nice: int | None = None
    """Beside others, all members together weigh as much as one process of this nice value."""
    accounted: bool = False
    """Groups without a limit, too, where what the members use can be read."""


_ACCOUNTS = ("cpuacct", "blkio")
_PRIVILEGED = "start aferir on the host itself, or in a container with control groups of its own"


def parse_mounts(text: str) -> tuple[dict[str, Path], Path | None]:
    """Hierarchies in /proc/self/mounts: (v1 controller to root, root of v2)."""
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
    """Whether we may make groups: as root, and not in a container that only sees its own."""
    roots = have.roots()
    return os.geteuid() == 0 and bool(roots) and all(os.access(root, os.W_OK) for root in roots)


def layout() -> Layout:
    """What this host mounts."""
    v1, v2 = parse_mounts(Path("/proc/self/mounts").read_text(encoding="utf-8"))
    controllers: tuple[str, ...] = ()
    if v2 is not None:
        with contextlib.suppress(OSError):
            controllers = tuple((v2 / "cgroup.controllers").read_text(encoding="ascii").split())
    return Layout(v1, v2, controllers)


def bandwidth_us(cpus: float) -> tuple[int, int]:
    """Quota and period in microseconds: a period as short as gives the quota a whole slice.

    The kernel takes no quota below 1 ms, which a period of at most 1 s reaches at 0.001 CPUs.
    """
    shortest, longest = _PERIOD_US
    period = min(max(round(_SLICE_US / cpus), shortest), longest)
    return max(round(cpus * period), 1_000), period


def weight_of(nice: int) -> int:
    """What a process of that nice value weighs, as `cpu.shares`: each step is a fourth more.

    Source: sched_prio_to_weight in kernel/sched/core.c, which this is within one of.
    """
    return round(1024 / 1.25**nice)


def settings(limits: Limits, have: Layout) -> list[tuple[Path, str, str]]:
    """Files to write for `limits`, in order: (root of the hierarchy, file, value).

    Errors: MissingError where neither version has the controller.
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
    """Make groups called `name` with these limits; controller (or `unified`) to folder.

    Journal `name` first. Errors: MissingError where it is not allowed or there is no controller.
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
                _delegate(root, controller)
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
    """Hierarchies that account for their members; version 2 does so for looks at them, too."""
    yield from ((name, have.v1[name]) for name in _ACCOUNTS if name in have.v1)
    if have.v2 is not None:
        yield "unified", have.v2


def find(name: str, have: Layout, below: Iterable[Path] = ()) -> list[Path]:
    """Groups called `name` or `name-...` at the roots, below our own group and those of `below`."""
    own = tuple(_own_paths())
    bases = {root / path for root in have.roots() for path in ("", *own)}
    found: list[Path] = []
    for base in bases.union(below):
        found += [path for path in base.glob(f"{name}*") if _named(path.name, name)]
    return sorted({path for path in found if path.is_dir()})


def members(folder: Path) -> set[int]:
    """Processes in a group and in those below it."""
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
    wait_s: float = 5.0,
    clock: Clock = MONOTONIC,
) -> None:
    """Kill whatever is left in the groups called `name` and remove them; nothing: fine.

    They are where `find` looks. Errors: OSError where one stays.
    """

    def removed() -> None:
        folders = find(name, have, below)
        for folder in folders:
            let_die(folder)
        for pid in {pid for folder in folders for pid in members(folder)}:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for folder in folders:
            _die_elsewhere(folder, name, have)
        undo.each(_remove_empty, folders)
        if left := find(name, have, below):
            raise OSError(errno.EBUSY, "a control group was made meanwhile", str(left[0]))

    until_it_works(removed, OSError, after(wait_s, clock), clock, period_s=0.005)


def _remove_empty(folder: Path) -> None:
    """Errors: OSError where it is not empty."""
    with contextlib.suppress(FileNotFoundError):
        for path in [*_below(folder), folder]:
            path.rmdir()


def let_die(folder: Path) -> None:
    """Lift what would keep the group's processes from dying of SIGKILL.

    A frozen one does not before it is thawed (freezer-subsystem.rst), and one that gets no CPU,
    beside others or for its quota, does not either: ending takes some.
    """
    for file, value in _LIVELY:
        if (folder / file).exists():
            with contextlib.suppress(OSError):
                (folder / file).write_text(value, encoding="ascii")


def _die_elsewhere(folder: Path, name: str, have: Layout) -> None:
    """Move a group's dying processes to the root, into a group that is found by its name as well.

    Within another that has hardly any weight they would die slowly, whatever their own has.
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
    """Groups below `folder`, the deepest first, as rmdir(2) wants them."""
    return [Path(path) for path, _, _ in os.walk(folder, topdown=False) if Path(path) != folder]


def _named(found: str, name: str) -> bool:
    return found == name or found.startswith(f"{name}-")


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


def _delegate(root: Path, controller: str) -> None:
    """Let groups below the root of version 2 use `controller`."""
    control = root / "cgroup.subtree_control"
    if controller not in control.read_text(encoding="ascii").split():
        control.write_text(f"+{controller}", encoding="ascii")
