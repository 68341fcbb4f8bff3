"""The processes and threads of a service, read anew in every control period.

Source: proc(5). Threads come and go; one is known by its number and its start time together.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

from aferir.colocation import units
from aferir.colocation.attributes import read_quickly, stat_fields
from aferir.errors import MissingError, UsageError
from aferir.linux import cgroup

_KINDS = ("pid", "pidfile", "comm", "cgroup", "unit")
_KERNEL_THREADS = 2
"""kthreadd, the parent of them all."""
_PROCESSES_S = 1.0
_BIRTHS = "/proc/loadavg"
_BYTES = 256
_NAMING_S = 2.0
_RENAMING_S = 1.0
_RENAMED = 200
"""Names that are read again in a second: a thousandth of a CPU."""


class ServiceSpec(msgspec.Struct, frozen=True):
    """How a service is found on this machine."""

    kind: Literal["pid", "pidfile", "comm", "cgroup", "unit"]
    value: str

    @property
    def group(self) -> str:
        """Path of its control group below the root; empty: it is found otherwise."""
        return self.value.strip("/") if self.kind == "cgroup" else ""

    @property
    def unit(self) -> str:
        """Name of its unit of systemd; empty: it is found otherwise."""
        if self.kind != "unit":
            return ""
        name = self.value.strip("/")
        return units.full_name(name)

    @property
    def may_restart(self) -> bool:
        """Whether other processes may take the place of its own."""
        return self.kind != "pid"


def parse_spec(text: str) -> ServiceSpec:
    """`pid:812`, `pidfile:/run/nginx.pid`, `comm:nginx`, `cgroup:/system.slice/a`, `unit:nginx`.

    Errors: UsageError.
    """
    kind, _, value = text.partition(":")
    if text.isdecimal():
        kind, value = "pid", text
    if kind not in _KINDS or not value or (kind == "pid" and not value.isdecimal()):
        raise UsageError(
            f"--service {text}: not a service",
            remedy="pid:NUMBER, pidfile:PATH, comm:NAME, cgroup:PATH or unit:NAME",
        )
    return ServiceSpec(kind, value)  # type: ignore[arg-type]


def processes(spec: ServiceSpec) -> tuple[int, ...]:
    """Process numbers of the service with all that descends from it; () where it does not run."""
    return Processes(spec).look()


class Processes:
    """Processes of a service; a look reads only what is new since the last one."""

    def __init__(self, spec: ServiceSpec) -> None:
        self._spec = spec
        self._roots = cgroup.layout().roots()
        self._unit: Path | None = None
        self._parents: dict[int, int] = {}
        self._members: set[int] = set()
        self._new: tuple[set[int], set[int]] = (set(), set())
        self._births = 0
        self._again: list[int] = []

    def look(self, births: int = 0) -> tuple[int, ...]:
        """Numbers of the processes that run now; what descends from one stays one of them.

        `births`: number given to the newest process, 0 where it is not known; where it is the same
        as at the last look, nobody new is looked for.
        """
        if self._spec.unit:
            return self._of_unit(self._spec.unit)
        if self._spec.group:
            return self._of_group(self._spec.group)
        self._look_at_parents(births)
        first = self._named() if self._spec.kind == "comm" else {_number(self._spec)}
        self._members |= first
        self._members &= self._parents.keys()
        while more := {p for p, up in self._parents.items() if up in self._members} - self._members:
            self._members |= more
        return tuple(sorted(self._members))

    def _look_at_parents(self, births: int) -> None:
        """Every process and its parent; kernel threads, zombies and we ourselves left out."""
        if births and births == self._births:  # who of the others has ended is no matter
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
        """By name, looked at twice: a process has its parent's name until execve(2).

        And one may name itself at any time (prctl(2)), so that some of all are looked at again.
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

    def _of_unit(self, name: str) -> tuple[int, ...]:
        """Its group is looked for once: a unit that is started anew has the same again."""
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
    """Whether others of a process go on whose first thread has ended; that one stays a zombie."""
    try:
        return len(os.listdir(f"/proc/{pid}/task")) > 1  # noqa: PTH208
    except OSError:
        return False


def check(spec: ServiceSpec) -> tuple[int, ...]:
    """Its processes. Errors: MissingError where there is none."""
    found = processes(spec)
    if not found:
        raise MissingError(
            f"the service {spec.kind}:{spec.value} does not run: there is no such process",
            remedy="start it, or name it otherwise: --service pid:NUMBER, comm:NAME, unit:NAME",
        )
    return found


class Service:
    """A service that is looked at again and again: threads at every look, processes once a second.

    A list of threads costs some 10 us and one to three more for each of them; all processes of a
    machine cost milliseconds. So they are listed only where one was born or has ended.
    """

    def __init__(self, spec: ServiceSpec) -> None:
        self.spec = spec
        self._processes = Processes(spec)
        self.pids: tuple[int, ...] = ()
        self.names: dict[int, str] = {}
        """Thread to its name, for all threads of the last look; another dict when any differs."""
        self._looked_s = -math.inf
        self._since_s: dict[int, float] = {}
        self._young: set[int] = set()
        self._threads: dict[int, int] = {}
        self._marks: tuple[int, ...] = ()
        self._births = -1
        self._again: list[int] = []
        self._again_s = -math.inf
        self._named_s = -math.inf

    def look(self, time_s: float) -> dict[int, int]:
        """Threads there are now, each with its process. `time_s`: on a clock that goes forward.

        The same dict as before where they are the same.
        """
        births = self._last_born()
        if time_s - self._looked_s >= _PROCESSES_S or not self.pids:
            self.pids = self._processes.look(births)
            self._looked_s = time_s
        marks = (births, *map(_count_of_threads, self.pids))
        if not self._has_changed(marks):
            self._marks = marks
            self._name_young(self._threads, time_s)
            return self._threads
        self._marks = marks
        found = threads(self.pids)
        if len(set(found.values())) < len(self.pids):  # one has ended
            self.pids = self._processes.look()
            found = threads(self.pids)
        for tid in self._since_s.keys() - found.keys():
            del self._since_s[tid]
            self._young.discard(tid)
            self.names = {known: name for known, name in self.names.items() if known != tid}
        for tid in found.keys() - self._since_s.keys():
            self._since_s[tid] = time_s
            self._young.add(tid)
        self._name_young(found, time_s)
        self._threads = found
        return found

    def close(self) -> None:
        """Close the file that is kept open."""
        if self._births >= 0:
            os.close(self._births)
            self._births = -1

    def _last_born(self) -> int:
        """Number given to the newest process or thread, proc(5); 0 where it cannot be read."""
        try:
            if self._births < 0:
                self._births = os.open(_BIRTHS, os.O_RDONLY | os.O_CLOEXEC)
            last = os.pread(self._births, _BYTES, 0).split()[-1]
        except (OSError, IndexError):
            return 0
        return int(last) if last.isdigit() else 0

    def _has_changed(self, marks: tuple[int, ...]) -> bool:
        """Whether a thread has been born or has ended, by the counts and the last number given.

        Numbers given since are looked at one by one where that is quicker than a list of all.
        """
        if not (marks[0] and self._marks and self.pids) or marks[1:] != self._marks[1:]:
            return True
        born = range(self._marks[0] + 1, marks[0] + 1)
        if marks[0] < self._marks[0] or len(born) * len(self.pids) > len(self._threads):
            return True
        return any(os.path.exists(f"/proc/{pid}/task/{tid}") for tid in born for pid in self.pids)  # noqa: PTH110

    def _name_young(self, found: dict[int, int], time_s: float) -> None:
        """A thread has its creator's name at first, and gives itself one soon after.

        Or much later, as those of a pool that are named after what they do just now.
        """
        named = self._young.union(self._to_name_again(found, time_s))
        if not named:
            return
        new = {tid: thread_name(found[tid], tid) for tid in named}
        if new.items() - self.names.items():
            self.names = {**self.names, **new}
        self._young = {tid for tid in self._young if time_s - self._since_s[tid] < _NAMING_S}

    def _to_name_again(self, found: dict[int, int], time_s: float) -> list[int]:
        """Some of all, each once a second where there are few."""
        if not self._again and time_s - self._again_s >= _RENAMING_S:
            self._again, self._again_s = list(found), time_s
            self._named_s = time_s
        count = math.ceil(_RENAMED * min(_RENAMING_S, time_s - self._named_s))
        self._named_s = time_s
        some, self._again = self._again[:count], self._again[count:]
        return [tid for tid in some if tid in found and tid not in self._young]


def _count_of_threads(pid: int) -> int:
    """The number of threads by the links of the folder, with 2 of its own.

    -1 where the process has ended.
    """
    try:
        return os.stat(f"/proc/{pid}/task").st_nlink  # noqa: PTH116
    except OSError:
        return -1


def threads(pids: tuple[int, ...]) -> dict[int, int]:
    """Thread numbers to the process of each."""
    found = {}
    for pid in pids:
        try:
            found.update(dict.fromkeys(map(int, os.listdir(f"/proc/{pid}/task")), pid))  # noqa: PTH208 - a control period counts microseconds
        except OSError:
            continue
    return found


def usable_cpus(pids: Iterable[int]) -> int:
    """CPUs that all of those processes may use, by their first threads; 0 where none runs."""
    masks = []
    for pid in pids:
        with contextlib.suppress(OSError):
            masks.append(os.sched_getaffinity(pid))
    return len(frozenset.intersection(*map(frozenset, masks))) if masks else 0


def thread_name(pid: int, tid: int) -> str:
    """Name of a thread, cut to 15 bytes by the kernel; "" where it has ended."""
    return read_quickly(f"/proc/{pid}/task/{tid}/comm").rstrip("\n")


def _number(spec: ServiceSpec) -> int:
    if spec.kind == "pid":
        return int(spec.value)
    try:
        return int(Path(spec.value).read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return -1
