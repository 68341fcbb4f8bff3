"""What the kernel admits to SCHED_DEADLINE, and how a policy's wishes are made to fit: pure.

Source: Documentation/scheduler/sched-deadline.rst, section 4: the sum of runtime / period of all
deadline threads of a root domain may be at most sched_rt_runtime_us / sched_rt_period_us of its
CPUs; a fair server on each CPU counts among them since Linux 6.8.
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
"""sched_deadline_period_min_us and _max_us, as they are unless somebody has changed them."""
UNIT = 1 << 20
"""The kernel counts bandwidth in 1/2^20 of a CPU."""
_FAIR_SERVER = 0.05
"""Share of each CPU: 50 ms of every second (sched/fair_server in debugfs)."""
_MARGIN = 1e-4
"""Left free, so that rounding to nanoseconds and to 1/2^20 is never refused."""
_SETTLES_S = 1.0
"""The time within which the kernel has given back what ended threads had reserved."""
REFUSED = Schedule(policy="other", nice=-20)
"""Schedule of a thread to which the kernel admits no deadline."""
_FSOPEN, _FSCONFIG, _FSMOUNT = 430, 431, 432
"""System calls, the same on every architecture; fsopen(2)."""
_FSCONFIG_CMD_CREATE = 6
_CLOEXEC = 1
_libc = ctypes.CDLL(None, use_errno=True)


class Bandwidth(msgspec.Struct, frozen=True):
    """The kernel's account of deadline bandwidth, in 1/2^20 of a CPU."""

    limit: int
    """Per CPU."""
    total: int
    """Reserved in the whole root domain, fair servers included."""

    def free_cpus(self, cores: int) -> float:
        """CPUs that may still be reserved.

        An account below 0, see `batch.make`, is a very large number to the kernel: none.
        """
        return 0.0 if self.total < 0 else max(0.0, (self.limit * cores - self.total) / UNIT)


def parse_bandwidth(text: str) -> Bandwidth | None:
    """Account in debugfs `sched/debug`; of several root domains, the fullest."""
    limits = re.findall(r"dl_bw->bw\s*:\s*(-?\d+)", text)
    totals = re.findall(r"dl_bw->total_bw\s*:\s*(-?\d+)", text)
    if not limits or len(limits) != len(totals):
        return None
    return Bandwidth(min(map(int, limits)), max(map(int, totals)))


def admit(wanted: Mapping[int, Schedule], free_cpus: float) -> dict[int, Schedule]:
    """Schedules that the kernel admits when `free_cpus` may be reserved for them together.

    Runtimes above their period are cut to it and periods to what the kernel takes; if the sum is
    still too much, all runtimes are scaled by one factor. A thread whose runtime is then too short
    for the kernel is scheduled as any other, at nice -20. Other policies stay as they were wanted.
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
    """Sum of runtime / period."""
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
    """The kernel's account; None where debugfs may not be read (it takes root)."""
    mounted = Path("/sys/kernel/debug/sched/debug")
    try:
        return parse_bandwidth(mounted.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return _read_detached()


def sound_bandwidth() -> Bandwidth | None:
    """The account, counted again where it is below 0 and the kernel would admit nobody."""
    found = read_bandwidth()
    if found is not None and found.total < 0:
        count_again()
        found = read_bandwidth()
    return found


def count_again() -> None:
    """Have the kernel count the reservations there are; as root, where it can (Linux 6.15 on).

    Writing the share of time for real-time classes does that, though it stays what it is. Only when
    no thread has just left SCHED_DEADLINE: see `batch.make`.
    """
    share = Path("/proc/sys/kernel/sched_rt_runtime_us")
    with contextlib.suppress(OSError):  # it counts before it finds the account to be too full
        share.write_text(share.read_text(encoding="ascii"), encoding="ascii")


def leaked(before: Bandwidth | None, clock: Clock = MONOTONIC) -> float | None:
    """CPUs still reserved that were not before; None where the account could not be read then.

    What a thread had that ended is given back only at the end of its period, at times later. Before
    Linux 6.15 nobody counts again. An account below 0 has lost some, which no thread holds.
    """
    if before is None:
        return None
    settled_s = after(_SETTLES_S, clock)
    if not until(lambda: _more_than(before) == 0, settled_s, clock, period_s=0.05):
        count_again()
    return max(0.0, _more_than(before))


def _more_than(before: Bandwidth) -> float:
    """CPUs that are reserved more than then; below 0 where the account lost some."""
    now = read_bandwidth()
    return (now.total - before.total) / UNIT if now else 0.0


def _read_detached() -> Bandwidth | None:
    """The account, from a debugfs that is mounted nowhere and gone with its file descriptor."""
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


def free_cpus(cores: int) -> float:
    """CPUs that may be reserved now; from the kernel's parameters where debugfs is closed to us."""
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
