"""The threads of a service with their names, listed only when one has started or ended.

Source: proc(5). Thread IDs are reused, so a thread is identified by its ID and its start time.
"""

from __future__ import annotations

import math
import os

from aferir.colocation.service import Processes, ServiceSpec, thread_name, threads

_PROCESSES_S = 1.0
_BIRTHS = "/proc/loadavg"
_BYTES = 256
_NAMING_S = 2.0
_RENAMING_S = 2.0
_RENAMED = 200
"""Number of names that are read again per second, at a cost of a thousandth of a CPU: with at most
400 threads, each is read every 2 s.
"""


class Service:
    """The threads of a service, updated at every call; its processes are listed once a second.

    Listing threads takes about 10 us, and 1 to 3 us more for each; listing all processes of a
    machine takes milliseconds. Threads are therefore listed only if one has started or ended.
    """

    def __init__(self, spec: ServiceSpec) -> None:
        self.spec = spec
        self._processes = Processes(spec)
        self.pids: tuple[int, ...] = ()
        self.names: dict[int, str] = {}
        """Names of all threads at the last call, by thread ID; a new dict whenever any of them
        changes."""
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
        """Thread IDs and the process of each. `time_s`: time in seconds on a monotonic clock.

        Returns the same dict object as before if nothing has changed.
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
        """ID given to the newest process or thread (proc(5)); 0 if it cannot be read."""
        try:
            if self._births < 0:
                self._births = os.open(_BIRTHS, os.O_RDONLY | os.O_CLOEXEC)
            last = os.pread(self._births, _BYTES, 0).split()[-1]
        except (OSError, IndexError):
            return 0
        return int(last) if last.isdigit() else 0

    def _has_changed(self, marks: tuple[int, ...]) -> bool:
        """Whether a thread has started or ended, judged by thread counts and the newest ID.

        IDs given since the last call are checked one by one if that is quicker than listing all
        threads.
        """
        if not (marks[0] and self._marks and self.pids) or marks[1:] != self._marks[1:]:
            return True
        born = range(self._marks[0] + 1, marks[0] + 1)
        if marks[0] < self._marks[0] or len(born) * len(self.pids) > len(self._threads):
            return True
        return any(os.path.exists(f"/proc/{pid}/task/{tid}") for tid in born for pid in self.pids)  # noqa: PTH110

    def _name_young(self, found: dict[int, int], time_s: float) -> None:
        """Read the names of new threads, and of some others, again.

        A thread has its creator's name at first and usually renames itself soon after. Some pools
        rename their threads at any time, after their current task.
        """
        named = self._young.union(self._to_name_again(found, time_s))
        if not named:
            return
        new = {tid: thread_name(found[tid], tid) for tid in named}
        if new.items() - self.names.items():
            self.names = {**self.names, **new}
        self._young = {tid for tid in self._young if time_s - self._since_s[tid] < _NAMING_S}

    def _to_name_again(self, found: dict[int, int], time_s: float) -> list[int]:
        """Threads whose names to read again, in turn; up to 400 threads come every 2 s."""
        if not self._again and time_s - self._again_s >= _RENAMING_S:
            self._again, self._again_s = list(found), time_s
            self._named_s = time_s
        count = math.ceil(_RENAMED * min(_RENAMING_S, time_s - self._named_s))
        self._named_s = time_s
        some, self._again = self._again[:count], self._again[count:]
        return [tid for tid in some if tid in found and tid not in self._young]


def _count_of_threads(pid: int) -> int:
    """Number of links of the process's task folder, which is 2 more than the number of its threads.

    -1 if the process has ended.
    """
    try:
        return os.stat(f"/proc/{pid}/task").st_nlink  # noqa: PTH116
    except OSError:
        return -1
