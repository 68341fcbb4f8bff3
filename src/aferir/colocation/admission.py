"""Computes what SCHED_DEADLINE bandwidth the kernel admits, and fits a policy's schedules to it.

Source: Documentation/scheduler/sched-deadline.rst, section 4: the sum of runtime / period of all
deadline threads of a root domain may be at most sched_rt_runtime_us / sched_rt_period_us of its
CPUs. Since Linux 6.8, this sum includes a fair server on each CPU.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from aferir.colocation.settings import Schedule
from aferir.linux.wait import MONOTONIC, Clock, after, until

LEAST_RUNTIME_S = 1_024e-9
PERIODS_S = (100e-6, 4.194304)
"""Shortest and longest period in seconds: defaults of sched_deadline_period_min_us and _max_us."""
UNIT = 1 << 20
"""Number of units in a CPU's bandwidth: the kernel counts bandwidth in 1/2^20 of a CPU."""
_FAIR_SERVER = 0.05
"""Share of each CPU reserved by its fair server: 50 ms per second (sched/fair_server in
debugfs)."""
_MARGIN = 1e-4
"""CPUs that are left unreserved, so that rounding to nanoseconds and to 1/2^20 never causes a
refusal.
"""
_SETTLES_S = 1.0
"""Seconds within which the kernel releases what ended threads had reserved."""
REFUSED = Schedule(policy="other", nice=-20)
"""Schedule for a thread whose reservation is refused or would be too small."""
_FSOPEN, _FSCONFIG, _FSMOUNT = 430, 431, 432
"""Numbers of the system calls fsopen(2), fsconfig and fsmount, the same on every architecture."""
_FSCONFIG_CMD_CREATE = 6
_CLOEXEC = 1
_libc = ctypes.CDLL(None, use_errno=True)


class Bandwidth(msgspec.Struct, frozen=True):
    """The kernel's account of deadline bandwidth, in 1/2^20 of a CPU."""

    limit: int
    """Bandwidth that may be reserved per CPU."""
    total: int
    """Bandwidth reserved in the whole root domain, including fair servers."""

    def free_cpus(self, cores: int) -> float:
        """CPUs that can still be reserved.

        It is 0 if the account is below 0 (see `batch.make`): the kernel reads that as a very large
        number and admits nothing.
        """
        return 0.0 if self.total < 0 else max(0.0, (self.limit * cores - self.total) / UNIT)


def parse_bandwidth(text: str) -> Bandwidth | None:
    """Parse the account in debugfs `sched/debug`; of several root domains, the fullest counts."""
    limits = re.findall(r"dl_bw->bw\s*:\s*(-?\d+)", text)
    totals = re.findall(r"dl_bw->total_bw\s*:\s*(-?\d+)", text)
    if not limits or len(limits) != len(totals):
        return None
    return Bandwidth(min(map(int, limits)), max(map(int, totals)))


def admit(wanted: Mapping[int, Schedule], free_cpus: float) -> dict[int, Schedule]:
    """Change the schedules so that the kernel admits all of them within `free_cpus`.

    Runtimes are limited to their period, and periods to what the kernel accepts. If the sum is
    still too large, all runtimes are scaled by one factor. A thread whose runtime is then too short
    for the kernel gets nice -20 instead. Schedules of other policies stay unchanged.
    """
    asked = {tid: _valid(s) for tid, s in wanted.items() if s.policy == "deadline"}
    wish = reserved_cpus(asked)
    room = max(0.0, free_cpus - _MARGIN)
    factor = min(1.0, room / wish) if wish else 1.0
    return {
        tid: _scaled(asked[tid], factor) if tid in asked else schedule
        for tid, schedule in wanted.items()
    }


def reserved_cpus(schedules: Mapping[int, Schedule]) -> float:
    """CPUs that `schedules` reserve: the sum of runtime / period."""
    return sum(
        schedule.runtime_s / schedule.period_s
        for schedule in schedules.values()
        if schedule.policy == "deadline"
    )


def _valid(schedule: Schedule) -> Schedule:
    period = min(max(schedule.period_s, PERIODS_S[0]), PERIODS_S[1])
    runtime = min(max(schedule.runtime_s, LEAST_RUNTIME_S), period)
    return msgspec.structs.replace(schedule, runtime_s=runtime, period_s=period)


def _scaled(schedule: Schedule, factor: float) -> Schedule:
    runtime = schedule.runtime_s * factor
    if runtime < LEAST_RUNTIME_S:
        return REFUSED
    return msgspec.structs.replace(schedule, runtime_s=runtime)


def read_bandwidth() -> Bandwidth | None:
    """The kernel's account of deadline bandwidth; None without access to debugfs."""
    mounted = Path("/sys/kernel/debug/sched/debug")
    try:
        return parse_bandwidth(mounted.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return _read_detached()


def sound_bandwidth() -> Bandwidth | None:
    """The kernel's account of deadline bandwidth, recounted if it was below 0."""
    found = read_bandwidth()
    if found is not None and found.total < 0:
        count_again()
        found = read_bandwidth()
    return found


def count_again() -> None:
    """Make the kernel recount existing reservations; needs root, works from Linux 6.15 on.

    The recount follows a write to the share of time for real-time classes, even of the same value.
    Call it only if no thread has just left SCHED_DEADLINE: see `batch.make`.
    """
    share = Path("/proc/sys/kernel/sched_rt_runtime_us")
    with contextlib.suppress(OSError):  # the kernel recounts before it refuses a full account
        share.write_text(share.read_text(encoding="ascii"), encoding="ascii")


def leaked(before: Bandwidth | None, clock: Clock = MONOTONIC) -> float | None:
    """CPUs reserved now in excess of the CPUs reserved `before`; None if `before` is unknown.

    Bandwidth of an ended thread is released only at the end of its period, and sometimes later.
    Before Linux 6.15, it cannot be recounted. If the account has become smaller, the answer is 0.
    """
    if before is None:
        return None
    settled_s = after(_SETTLES_S, clock)
    if not until(lambda: more_than(before) == 0, settled_s, clock, period_s=0.05):
        count_again()
    return max(0.0, more_than(before))


def more_than(before: Bandwidth) -> float:
    """CPUs reserved now minus the CPUs reserved before; below 0 if the account lost some.

    The earlier account may have been too low (see `batch.make`) and recounted since. Its total is
    therefore taken as at least that of the fair servers, so that a recount does not look like an
    increase.
    """
    now = read_bandwidth()
    least = _fair_servers(os.uname().release, os.cpu_count() or 1)
    return (now.total - max(before.total, least)) / UNIT if now else 0.0


def _fair_servers(release: str, cores: int) -> int:
    """Bandwidth that the fair servers of all CPUs reserve by default; 0 before Linux 6.8."""
    version = tuple(map(int, re.findall(r"\d+", release)[:2]))
    return int(_FAIR_SERVER * UNIT) * cores if version >= (6, 8) else 0


def _read_detached() -> Bandwidth | None:
    """Read the account through a temporary mount of debugfs that is attached to no folder."""
    context = _libc.syscall(_FSOPEN, b"debugfs", _CLOEXEC)
    if context < 0:
        return None
    mount = -1
    try:
        if _libc.syscall(_FSCONFIG, context, _FSCONFIG_CMD_CREATE, None, None, 0) == 0:
            mount = _libc.syscall(_FSMOUNT, context, _CLOEXEC, 0)
        if mount < 0:
            return None
        file = os.open("sched/debug", os.O_RDONLY | os.O_CLOEXEC, dir_fd=mount)
        with open(file, encoding="utf-8", errors="replace") as stream:  # noqa: PTH123
            return parse_bandwidth(stream.read())
    except OSError:
        return None
    finally:
        for handle in (mount, context):
            if handle >= 0:
                os.close(handle)


def free_beside(ours: Mapping[int, Schedule], cores: int) -> float:
    """Return the CPUs that this program may reserve; used after the kernel has refused some.

    They are those of `ours`, the schedules that it has reserved, and the free ones. If debugfs is
    unreadable, none counts as free.
    """
    account = read_bandwidth()
    free = account.free_cpus(cores) if account is not None else 0.0
    return free + reserved_cpus(ours)


def free_cpus(cores: int) -> float:
    """CPUs that can be reserved now; computed from kernel parameters if debugfs is unreadable."""
    account = read_bandwidth()
    if account is not None:
        return account.free_cpus(cores)
    try:
        runtime, period = (
            int(Path(f"/proc/sys/kernel/sched_rt_{name}_us").read_text(encoding="ascii"))
            for name in ("runtime", "period")
        )
    except (OSError, ValueError):
        return 0.0
    share = 1.0 if runtime < 0 else runtime / period
    return max(0.0, (share - _FAIR_SERVER) * cores)
