"""CPU use of threads, processes and the machine, sampled ten times a second at little cost.

Files stay open and are read again from offset 0. Sources: Documentation/scheduler/sched-stats.rst
(schedstat of a thread: nanoseconds on a CPU and waiting for one), Documentation/accounting/psi.rst,
proc(5), cgroup-v2.rst of the kernel.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Collection, Iterable, Mapping

import msgspec

from aferir.colocation.attributes import read_quickly, reserving
from aferir.colocation.batch import Group
from aferir.probes.cpu import STATES, parse_cpu_ticks

_TICKS = os.sysconf("SC_CLK_TCK")
_PRESSURE = "/proc/pressure/cpu"
_SLOW_S = 0.45
_RESERVING_S = 2.0
"""Seconds between searches for processes that have a reservation, which take a system call for each
process of the machine. Policies smooth the CPU use of others over the same interval."""
_MOST_OPEN = 512
"""Largest number of open files: the default limit of a process is 1,024, and a JVM has thousands of
threads."""
_BYTES = 8_192
"""Number of bytes per read: more than any of these files holds, except /proc/stat, whose first line
is enough.
"""


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """Monotonic counters in seconds, and the time at which they were read."""

    time_s: float
    threads: dict[int, tuple[float, float]] = {}
    """Seconds on a CPU, and seconds of waiting for one, by thread ID."""
    service_s: dict[int, float] = {}
    """Process ID to CPU seconds of all its threads, including those that have ended."""
    batch_s: float = 0.0
    throttled_s: float = 0.0
    idle_s: float = 0.0
    steal_s: float = 0.0
    others_reserved_s: dict[int, float] = {}
    """CPU seconds by process ID of other processes that have a SCHED_DEADLINE reservation."""
    pressure_s: float = 0.0


class Use(msgspec.Struct, frozen=True, kw_only=True):
    """CPU use between two snapshots: CPU seconds per second, or shares of the time (0 to 1)."""

    threads: dict[int, tuple[float, float]] = {}
    processes: dict[int, float] = {}
    """CPU seconds per second of each process of the services, by process ID."""
    batch_cpus: float = 0.0
    batch_throttled: float = 0.0
    idle_cpus: float = 0.0
    steal_cpus: float = 0.0
    others_reserved_cpus: float = 0.0
    pressure: float = 0.0


def between(before: Seen, after: Seen) -> Use:
    """CPU use between two snapshots, per second.

    A counter that decreased, or was absent from the first snapshot, counts as 0.
    """
    seconds = after.time_s - before.time_s
    if seconds <= 0:
        return Use()

    def rate(now: float, then: float) -> float:
        return max(0.0, now - then) / seconds

    def rates(now: Mapping[int, float], then: Mapping[int, float]) -> dict[int, float]:
        return {pid: rate(used, then[pid]) for pid, used in now.items() if pid in then}

    return Use(
        threads={
            tid: (rate(run, before.threads[tid][0]), rate(waited, before.threads[tid][1]))
            if tid in before.threads
            else (0.0, 0.0)
            for tid, (run, waited) in after.threads.items()
        },
        processes=rates(after.service_s, before.service_s),
        batch_cpus=rate(after.batch_s, before.batch_s),
        batch_throttled=min(1.0, rate(after.throttled_s, before.throttled_s)),
        idle_cpus=rate(after.idle_s, before.idle_s),
        steal_cpus=rate(after.steal_s, before.steal_s),
        others_reserved_cpus=sum(rates(after.others_reserved_s, before.others_reserved_s).values()),
        pressure=min(1.0, rate(after.pressure_s, before.pressure_s)),
    )


def parse_schedstat(text: str) -> tuple[float, float]:
    """Seconds on a CPU and seconds of waiting for one, from the text of a schedstat file."""
    run, waited = text.split()[:2]
    return int(run) / 1e9, int(waited) / 1e9


def parse_pressure(text: str) -> float:
    """Seconds for which some task waited, from the line `some avg10=... total=MICROSECONDS`."""
    for line in text.splitlines():
        if line.startswith("some "):
            return int(line.rpartition("total=")[2]) / 1e6
    return 0.0


def parse_throttled(text: str) -> float:
    """Seconds for which a quota throttled the group, from cpu.stat of version 1 (ns) or 2 (us)."""
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if name == "throttled_time":
            return int(value) / 1e9
        if name == "throttled_usec":
            return int(value) / 1e6
    return 0.0


def parse_usage(text: str) -> float:
    """CPU seconds of a group, from version 1's cpuacct.usage (ns) or version 2's cpu.stat (us)."""
    if text.strip().isdecimal():
        return int(text) / 1e9
    for line in text.splitlines():
        if line.startswith("usage_usec "):
            return int(line.split()[1]) / 1e6
    return 0.0


class Usage:
    """Reads counters of CPU use from files that stay open until `close`."""

    def __init__(self, group: Group | None) -> None:
        self._files: dict[str, int] = {}
        self._reserving: tuple[int, ...] = ()
        self._searched_s = -math.inf
        self._batch = _of_group(group, "cpuacct", "cpuacct.usage", "cpu.stat")
        self._throttled = _of_group(group, "cpu", "cpu.stat", "cpu.stat")

    def look(self, threads: Mapping[int, int], pids: Collection[int]) -> Seen:
        """Read all counters: threads (tid to pid), processes, the batch group and the machine."""
        self._close_all_but(threads)
        now_s = time.monotonic()
        if now_s >= self._searched_s + _RESERVING_S:
            self._reserving, self._searched_s = reserving(pids), now_s
        return msgspec.structs.replace(
            self.look_quickly(pids),
            threads={
                tid: parse_schedstat(text)
                for tid, pid in threads.items()
                if (text := self._read(_schedstat(pid, tid)))
            },
            throttled_s=parse_throttled(self._read(self._throttled)),
            pressure_s=parse_pressure(self._read(_PRESSURE)),
        )

    def look_quickly(self, pids: Collection[int]) -> Seen:
        """Read only the CPU time of the processes, the batch group, and idle and steal time."""
        first, _, _ = self._read("/proc/stat").partition("\n")
        ticks = parse_cpu_ticks(first) or (0,) * len(STATES)
        by_state = dict(zip(STATES, ticks, strict=True))
        return Seen(
            time_s=time.monotonic(),
            service_s=_seconds(pids),
            others_reserved_s=_seconds(pid for pid in self._reserving if pid not in pids),
            batch_s=parse_usage(self._read(self._batch)),
            idle_s=(by_state["idle"] + by_state["iowait"]) / _TICKS,
            steal_s=by_state["steal"] / _TICKS,
        )

    def close(self) -> None:
        """Close all files."""
        for file in self._files.values():
            os.close(file)
        self._files.clear()

    def _close_all_but(self, threads: Mapping[int, int]) -> None:
        if len(self._files) <= len(threads) + 4:  # 4: two of the machine, two of the group
            return
        wanted = {_schedstat(pid, tid) for tid, pid in threads.items()}
        for path in [p for p in self._files if p.startswith("/proc/") and p.endswith("schedstat")]:
            if path not in wanted:
                os.close(self._files.pop(path))

    def _read(self, path: str) -> str:
        """The file's contents from its start; "" if it does not exist or its thread has ended."""
        try:
            file = self._files.get(path)
            if file is None:
                if len(self._files) >= _MOST_OPEN:
                    return read_quickly(path)
                file = self._files[path] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            return os.pread(file, _BYTES, 0).decode("utf-8", "replace")
        except OSError:
            if path in self._files:
                os.close(self._files.pop(path))
            return ""


class Watch:
    """Samples the CPU use in every control period.

    Threads, pressure and throttling take a file each and affect decisions only over seconds. They
    are therefore read twice a second, and reported as means over that half second.
    """

    def __init__(self, group: Group | None) -> None:
        self._usage = Usage(group)
        self._last: Seen | None = None
        self._whole: Seen | None = None
        self._slow = Use()

    def look(self, time_s: float, threads: Mapping[int, int], pids: Collection[int]) -> Use:
        """CPU use since the last call. `time_s`: time in seconds on a monotonic clock."""
        if self._whole is None or time_s >= self._whole.time_s + _SLOW_S:
            now = self._usage.look(threads, pids)
            self._slow = between(self._whole, now) if self._whole else Use()
            self._whole = now
        else:
            now = self._usage.look_quickly(pids)
        use = between(self._last, now) if self._last else Use()
        self._last = now
        return msgspec.structs.replace(
            use,
            threads=self._slow.threads,
            batch_throttled=self._slow.batch_throttled,
            pressure=self._slow.pressure,
        )

    @property
    def batch_s(self) -> float:
        """CPU seconds used by the batch group so far."""
        return self._last.batch_s if self._last else 0.0

    def close(self) -> None:
        """Close all files."""
        self._usage.close()


def _of_group(group: Group | None, controller: str, v1: str, v2: str) -> str:
    """Path of the group's file in version 1, or else in version 2; "" if the group has neither."""
    folders = group.folders if group else {}
    if controller in folders:
        return str(folders[controller] / v1)
    return str(folders["unified"] / v2) if "unified" in folders else ""


def _schedstat(pid: int, tid: int) -> str:
    return f"/proc/{pid}/task/{tid}/schedstat"


def _seconds(pids: Iterable[int]) -> dict[int, float]:
    return {pid: used for pid in pids if (used := process_seconds(pid)) is not None}


def process_seconds(pid: int) -> float | None:
    """CPU seconds used by a process, from its CPU clock; None if it has ended (clock_getres(2))."""
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return None


def most_resident_bytes(pid: int) -> int:
    """Peak resident memory of a process in bytes (VmHWM, proc(5)); 0 if it has ended.

    ru_maxrss is not used because a process inherits its initial value from its parent.
    """
    for line in read_quickly(f"/proc/{pid}/status").splitlines():
        name, _, value = line.partition(":")
        if name == "VmHWM":
            return 1024 * int(value.split()[0])
    return 0
