"""The processes of a service, found again in every control period. Source: proc(5)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

from aferir.colocation import containers, units
from aferir.colocation.attributes import read_quickly, stat_fields
from aferir.errors import MissingError, UsageError
from aferir.linux import cgroup

_KINDS = ("pid", "pidfile", "comm", "cgroup", "unit", "container", "pod")
_KERNEL_THREADS = 2
"""Process ID of kthreadd, the parent of all kernel threads."""
_RENAMED = 200
"""Number of known processes whose name is read again at each call, since a process may rename
itself (prctl(2)).
"""


class ServiceSpec(msgspec.Struct, frozen=True):
    """Way in which the processes of a service are found on this machine."""

    kind: Literal["pid", "pidfile", "comm", "cgroup", "unit", "container", "pod"]
    value: str

    def __str__(self) -> str:
        """The specification as `parse_spec` reads it, such as `unit:nginx`."""
        return f"{self.kind}:{self.value}"

    @property
    def group(self) -> str:
        """Path of the service's control group below the root; "" if it was named in another way."""
        return self.value.strip("/") if self.kind == "cgroup" else ""

    @property
    def unit(self) -> str:
        """Name of the service's systemd unit; "" if it was named in another way."""
        if self.kind != "unit":
            return ""
        name = self.value.strip("/")
        return units.full_name(name)

    @property
    def may_restart(self) -> bool:
        """Whether other processes may later replace the present ones, e.g. after a restart."""
        return self.kind != "pid"


def parse_spec(text: str) -> ServiceSpec:
    """A service from `pid:812`, `pidfile:PATH`, `comm:nginx`, `cgroup:/PATH`, `unit:nginx`, ...

    Errors: UsageError if the text has another form.
    """
    kind, _, value = text.partition(":")
    if text.isdecimal():
        kind, value = "pid", text
    if kind not in _KINDS or not value or (kind == "pid" and not value.isdecimal()):
        raise UsageError(
            f"--service {text}: not a service",
            remedy="pid:NUMBER, pidfile:PATH, comm:NAME, cgroup:PATH, unit:NAME, container:NAME"
            " or pod:UID",
        )
    return ServiceSpec(kind, value)  # type: ignore[arg-type]


def processes(spec: ServiceSpec) -> tuple[int, ...]:
    """Process IDs of the service and all its descendants; () if it does not run."""
    return Processes(spec).look()


class Processes:
    """Processes of a service; each `look` reads only what is new since the previous one."""

    def __init__(self, spec: ServiceSpec) -> None:
        self._spec = spec
        self._roots = cgroup.layout().roots()
        self._unit: Path | None = None
        self._groups: list[Path] = []
        self._parents: dict[int, int] = {}
        self._members: set[int] = set()
        self._new: tuple[set[int], set[int]] = (set(), set())
        self._births = 0
        self._again: list[int] = []

    def look(self, births: int = 0) -> tuple[int, ...]:
        """IDs of the processes that run now; descendants remain members if their parent ends.

        `births`: ID of the newest process, 0 if unknown. If it has not changed since the last call,
        no new processes are searched for.
        """
        if self._spec.unit:
            return self._of_unit(self._spec.unit)
        if self._spec.group:
            return self._of_group(self._spec.group)
        if self._spec.kind in containers.MATCHERS:
            return self._of_containers()
        self._look_at_parents(births)
        first = self._named() if self._spec.kind == "comm" else {_number(self._spec)}
        self._members |= first
        self._members &= self._parents.keys()
        while more := {p for p, up in self._parents.items() if up in self._members} - self._members:
            self._members |= more
        return tuple(sorted(self._members))

    def _look_at_parents(self, births: int) -> None:
        """Read the parent of every process, except kernel threads, zombies and this process."""
        if births and births == self._births:  # it does not matter which others have ended
            pids = set(self._parents)
        else:
            pids = {int(name) for name in os.listdir("/proc") if name.isdecimal()}  # noqa: PTH208
            pids -= {os.getpid(), _KERNEL_THREADS}
        self._births = births
        new = pids - self._parents.keys()
        for pid in self._parents.keys() - pids:
            del self._parents[pid]
        for pid in new | (self._members & pids):
            fields = stat_fields(f"/proc/{pid}/stat")
            if fields and (fields[0] not in "ZX" or _has_threads(pid)):
                self._parents[pid] = int(fields[1])
            else:
                self._parents.pop(pid, None)
        self._new = (self._new[1], new)

    def _named(self) -> set[int]:
        """New processes of the given name, and some of the others, checked in turn.

        New processes are checked twice because they have their parent's name until execve(2).
        Others are checked again in turn because a process may rename itself at any time (prctl(2)).
        """
        if not self._again:
            self._again = sorted(self._parents.keys() - self._members)
        some, self._again = self._again[-_RENAMED:], self._again[:-_RENAMED]
        candidates = self._new[0].union(self._new[1], some) & self._parents.keys()
        return {
            pid
            for pid in candidates
            if self._parents[pid] != _KERNEL_THREADS
            and thread_name(pid, pid) == self._spec.value[:15]
        }

    def _of_group(self, name: str) -> tuple[int, ...]:
        for folder in (root / name for root in self._roots):
            if pids := cgroup.members(folder):
                return tuple(sorted(pids))
        return ()

    def _of_containers(self) -> tuple[int, ...]:
        """Processes of a container or pod; its groups are searched for again when they are gone."""
        if not any(group.is_dir() for group in self._groups):
            kind, name = self._spec.kind, self._spec.value
            self._groups = [g for root in self._roots for g in containers.groups(root, kind, name)]
        return tuple(sorted(set[int]().union(*map(cgroup.members, self._groups))))

    def _of_unit(self, name: str) -> tuple[int, ...]:
        """Processes of a unit; its group is looked up once, as a restart does not change it."""
        if self._unit is None:
            found = {
                group: group.relative_to(root)
                for root in self._roots
                for group in units.groups_named(root, name)
                if cgroup.members(group)
            }
            self._unit = units.of_this_machine(found, name)
        return tuple(sorted(cgroup.members(self._unit))) if self._unit else ()


def _has_threads(pid: int) -> bool:
    """Whether a process still runs although its first thread has ended and is a zombie."""
    try:
        return len(os.listdir(f"/proc/{pid}/task")) > 1  # noqa: PTH208
    except OSError:
        return False


def check(spec: ServiceSpec) -> tuple[int, ...]:
    """Process IDs of the service. Errors: MissingError if it does not run."""
    found = processes(spec)
    if not found:
        raise MissingError(
            f"the service {spec.kind}:{spec.value} does not run: there is no such process",
            remedy="start it, or name it otherwise: --service pid:NUMBER, comm:NAME, unit:NAME",
        )
    return found


def threads(pids: tuple[int, ...]) -> dict[int, int]:
    """Thread IDs of the processes `pids`, and the process of each."""
    found = {}
    for pid in pids:
        try:
            found.update(dict.fromkeys(map(int, os.listdir(f"/proc/{pid}/task")), pid))  # noqa: PTH208 - a control period counts microseconds
        except OSError:
            continue
    return found


def usable_cpus(pids: Iterable[int]) -> int:
    """Number of CPUs in the affinity masks of the main threads of `pids`; 0 if none runs.

    The masks are intersected; processes that have ended are left out.
    """
    masks = []
    for pid in pids:
        with contextlib.suppress(OSError):
            masks.append(os.sched_getaffinity(pid))
    return len(frozenset.intersection(*map(frozenset, masks))) if masks else 0


def thread_name(pid: int, tid: int) -> str:
    """Name of a thread, truncated to 15 bytes by the kernel; "" if the thread has ended."""
    return read_quickly(f"/proc/{pid}/task/{tid}/comm").rstrip("\n")


def _number(spec: ServiceSpec) -> int:
    if spec.kind == "pid":
        return int(spec.value)
    try:
        return int(Path(spec.value).read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return -1
