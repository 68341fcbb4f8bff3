"""Scheduling attributes of single threads: read, set and restore.

Sources: sched(7), sched_setattr(2), Documentation/scheduler/sched-deadline.rst of the kernel.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import time
from collections.abc import Container, Iterator

import msgspec

from aferir.colocation.settings import Schedule
from aferir.linux import scheduling

OTHER, FIFO, ROUND_ROBIN, BATCH, IDLE, DEADLINE = 0, 1, 2, 3, 5, 6
RESET_ON_FORK = 0x1
_POLICY = 0xFF
"""Mask for the result of sched_getscheduler(2), which adds 0x40000000 for SCHED_RESET_ON_FORK."""
RECLAIM = 0x2
_POLICIES = {"other": OTHER, "fifo": FIFO, "batch": BATCH, "idle": IDLE, "deadline": DEADLINE}
LEAST_RUNTIME_NS = 1_024
"""Shortest runtime in nanoseconds that the kernel accepts (DL_SCALE)."""
_BYTES = 4_096


class Attributes(msgspec.Struct, frozen=True, kw_only=True):
    """Scheduling attributes of a thread, as sched_getattr(2) returns them."""

    policy: int = OTHER
    flags: int = 0
    nice: int = 0
    priority: int = 0
    runtime_ns: int = 0
    """Runtime of a deadline thread; slice of a fair thread, since Linux 6.12."""
    deadline_ns: int = 0
    period_ns: int = 0


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A thread's state as it was before it was changed."""

    pid: int
    tid: int
    started: int
    """Start time in clock ticks since boot, because thread IDs are reused."""
    attributes: Attributes
    cpus: tuple[int, ...]
    """CPUs on which the thread may run."""


def read(tid: int) -> Attributes:
    """Attributes of a thread. Errors: OSError, with ESRCH if the thread does not exist."""
    given = scheduling.get(tid)
    return Attributes(
        policy=given.policy,
        flags=given.flags,
        nice=given.nice,
        priority=given.priority,
        runtime_ns=given.runtime,
        deadline_ns=given.deadline,
        period_ns=given.period,
    )


def write(tid: int, wanted: Attributes) -> None:
    """Set a thread's attributes.

    Errors: OSError, with ESRCH: no such thread; EBUSY: the kernel does not admit so much bandwidth;
    EPERM: no privilege, or a deadline for a thread that may not run on every CPU.
    """
    scheduling.set_(tid, as_given(wanted))


def as_given(wanted: Attributes) -> scheduling.SchedAttr:
    """Convert the attributes to the structure of sched_setattr(2)."""
    return scheduling.SchedAttr(
        ctypes.sizeof(scheduling.SchedAttr),
        wanted.policy,
        wanted.flags,
        wanted.nice,
        wanted.priority,
        wanted.runtime_ns,
        wanted.deadline_ns,
        wanted.period_ns,
    )


def of(schedule: Schedule) -> Attributes:
    """Attributes by which the kernel carries out a schedule.

    RESET_ON_FORK is set so that new threads do not inherit them: without it, a deadline thread
    cannot start another thread at all (EAGAIN), and all new threads of a FIFO server would be FIFO.
    """
    period = round(schedule.period_s * 1e9) if schedule.policy == "deadline" else 0
    reclaim = RECLAIM if schedule.policy == "deadline" and schedule.reclaim else 0
    return Attributes(
        policy=_POLICIES[schedule.policy],
        flags=RESET_ON_FORK | reclaim,
        nice=schedule.nice if schedule.policy in ("other", "batch") else 0,
        priority=schedule.priority if schedule.policy == "fifo" else 0,
        runtime_ns=round(schedule.runtime_s * 1e9) if period else 0,
        deadline_ns=period,
        period_ns=period,
    )


def of_started_by(starter: Attributes) -> Attributes:
    """The attributes that a new thread inherits (sched_fork, kernel/sched/core.c).

    With RESET_ON_FORK, a thread of SCHED_FIFO or SCHED_DEADLINE starts threads of nice 0, whatever
    the process's nice value was before. SCHED_IDLE and nice values above 0 are inherited
    nevertheless.
    """
    reset = bool(starter.flags & RESET_ON_FORK)
    if starter.policy == DEADLINE or (reset and starter.policy in (FIFO, ROUND_ROBIN)):
        return Attributes()
    nice = max(0, starter.nice) if reset else starter.nice
    return Attributes(policy=starter.policy, nice=nice, priority=starter.priority)


def find(pid: int, tid: int) -> Found | None:
    """The present attributes of a thread of a process; None if it has ended."""
    started = thread_started(pid, tid)
    if started is None:
        return None
    try:
        cpus = tuple(sorted(os.sched_getaffinity(tid)))
        return Found(pid=pid, tid=tid, started=started, attributes=read(tid), cpus=cpus)
    except ProcessLookupError:
        return None


def thread_started(pid: int, tid: int) -> int | None:
    """Start time of a thread in clock ticks since boot (field 22 of its stat, proc(5))."""
    fields = stat_fields(f"/proc/{pid}/task/{tid}/stat")
    return int(fields[19]) if fields else None


def ticks_since_boot() -> int:
    """The present time on the clock of threads' start times, in clock ticks since boot."""
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))


def stat_fields(path: str) -> list[str]:
    """Fields of a stat file from the third (the state) on; [] if the thread has ended."""
    return read_quickly(path).rpartition(")")[2].split()


def read_quickly(path: str) -> str:
    """Contents of a short /proc file in a fifth of pathlib's time; "" if it cannot be read."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(file, _BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        os.close(file)


def restorable(found: Attributes) -> Attributes:
    """Return the attributes that restore a thread, without its slice if that is the default.

    A slice that is written stays when the default changes. The default is read from the calling
    thread, or from process 1 if the caller's scheduling class has no slice.
    """
    fair = found.policy in (OTHER, BATCH, IDLE) and found.runtime_ns > 0
    if fair and found.runtime_ns == _default_slice_ns():
        return msgspec.structs.replace(found, runtime_ns=0)
    return found


def restore_nice(tid: int, found: Attributes) -> None:
    """Restore the nice value of a thread under SCHED_IDLE, which sched_setattr(2) leaves as it is.

    It has no effect until the thread leaves SCHED_IDLE. Errors: OSError.
    """
    if found.policy == IDLE:
        os.setpriority(os.PRIO_PROCESS, tid, found.nice)


def _default_slice_ns() -> int:
    for tid in (0, 1):
        with contextlib.suppress(OSError):
            if slice_ns := read(tid).runtime_ns:
                return slice_ns
    return 0


def reserving(but: Container[int]) -> tuple[int, ...]:
    """Processes other than `but` whose first thread has a deadline reservation."""
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):  # noqa: PTH208
        try:  # a context manager would take as long again as the system call
            if int(name) not in but and os.sched_getscheduler(int(name)) & _POLICY == DEADLINE:
                found.append(int(name))
        except OSError:
            continue
    return tuple(found)


def put_first(tid: int) -> None:
    """Let a thread of this program (0: the calling one) outrank all but deadline threads.

    Uses SCHED_FIFO with priority 2, or nice -10 if that is not permitted, or nothing.
    """
    for ours in (Attributes(policy=FIFO, priority=2), Attributes(nice=-10)):
        with contextlib.suppress(OSError):
            write(tid, msgspec.structs.replace(ours, flags=RESET_ON_FORK))
            break


@contextlib.contextmanager
def going_first() -> Iterator[None]:
    """Let this thread, but not its children, outrank the service while the context is open.

    The controller and its guard sleep most of the time. A service under SCHED_FIFO that uses all
    CPUs must not keep them from running, or they could not take it out of SCHED_FIFO again.
    """
    before = None
    with contextlib.suppress(OSError):
        before = read(0)
    put_first(0)
    try:
        yield
    finally:
        if before:
            with contextlib.suppress(OSError):
                write(0, restorable(before))


def explain(error: OSError) -> str:
    """Why the kernel refused a schedule, with a hint at the remedy."""
    words = {
        errno.EBUSY: "the kernel admits no more deadline bandwidth",
        errno.EPERM: "not allowed: CAP_SYS_NICE is missing, or the thread is kept from some CPU"
        " (affinity, cpuset), or its control group has no cpu.rt_runtime_us",
        errno.EINVAL: "the kernel takes no such runtime and period",
    }
    return words.get(error.errno or 0, error.strerror or str(error))
