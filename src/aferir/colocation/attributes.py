"""Scheduling attributes of single threads: read, set, and given back as they were found.

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
"""Of what sched_getscheduler(2) says: without SCHED_RESET_ON_FORK, which is 0x40000000 there."""
RECLAIM = 0x2
_POLICIES = {"other": OTHER, "fifo": FIFO, "batch": BATCH, "idle": IDLE, "deadline": DEADLINE}
LEAST_RUNTIME_NS = 1_024
"""The kernel takes no shorter one (DL_SCALE)."""
_BYTES = 4_096


class Attributes(msgspec.Struct, frozen=True, kw_only=True):
    """What sched_getattr(2) says of a thread."""

    policy: int = OTHER
    flags: int = 0
    nice: int = 0
    priority: int = 0
    runtime_ns: int = 0
    """Runtime of a deadline thread; of a fair one its slice, since Linux 6.12."""
    deadline_ns: int = 0
    period_ns: int = 0


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A thread as it was before we touched it."""

    pid: int
    tid: int
    started: int
    """Start in clock ticks since boot: a thread id alone comes back."""
    attributes: Attributes
    cpus: tuple[int, ...]
    """Those it may run on."""


def read(tid: int) -> Attributes:
    """Attributes of a thread. Errors: OSError, ESRCH where there is none."""
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
    """Set them.

    Errors: OSError; ESRCH: no such thread, EBUSY: the kernel does not admit so much bandwidth,
    EPERM: no privilege, or a deadline for a thread that may not run on every CPU.
    """
    scheduling.set_(tid, as_given(wanted))


def as_given(wanted: Attributes) -> scheduling.SchedAttr:
    """They as sched_setattr(2) takes them."""
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
    """A schedule in the kernel's words.

    What the thread starts does not inherit it: without RESET_ON_FORK a deadline thread cannot
    start another at all (EAGAIN), and a server's new threads would all be FIFO.
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
    """What a new thread has of the one that starts it (sched_fork, kernel/sched/core.c).

    Under RESET_ON_FORK what a thread of SCHED_FIFO or SCHED_DEADLINE starts has nice 0, whatever
    nice value the process had before. SCHED_IDLE and nice values above 0 are inherited all the
    same.
    """
    reset = bool(starter.flags & RESET_ON_FORK)
    if starter.policy == DEADLINE or (reset and starter.policy in (FIFO, ROUND_ROBIN)):
        return Attributes()
    nice = max(0, starter.nice) if reset else starter.nice
    return Attributes(policy=starter.policy, nice=nice, priority=starter.priority)


def find(pid: int, tid: int) -> Found | None:
    """A thread of a process as it is now; None where it has ended."""
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
    """Now, as start times of threads are told."""
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))


def stat_fields(path: str) -> list[str]:
    """Fields of a stat file from the third on, the state; [] where the thread has ended."""
    return read_quickly(path).rpartition(")")[2].split()


def read_quickly(path: str) -> str:
    """A short file of /proc, at a fifth of what pathlib takes; "" where it is not there."""
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
    """A fair thread's slice is set only where it is not the default, which would else be pinned.

    The default is that of the thread which calls this, or where it is above the fair class and so
    has none, of the machine's first process.
    """
    fair = found.policy in (OTHER, BATCH, IDLE) and found.runtime_ns > 0
    if fair and found.runtime_ns == _default_slice_ns():
        return msgspec.structs.replace(found, runtime_ns=0)
    return found


def _default_slice_ns() -> int:
    for tid in (0, 1):
        with contextlib.suppress(OSError):
            if slice_ns := read(tid).runtime_ns:
                return slice_ns
    return 0


def reserving(but: Container[int]) -> tuple[int, ...]:
    """Processes of others, `but` those, whose first thread has a deadline reservation."""
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):  # noqa: PTH208
        with contextlib.suppress(OSError):
            if int(name) not in but and os.sched_getscheduler(int(name)) & _POLICY == DEADLINE:
                found.append(int(name))
    return tuple(found)


def put_first(tid: int) -> None:
    """Have a thread of ours (0: this one) run whenever it has to, where that is allowed."""
    for ours in (Attributes(policy=FIFO, priority=2), Attributes(nice=-10)):
        with contextlib.suppress(OSError):
            write(tid, msgspec.structs.replace(ours, flags=RESET_ON_FORK))
            break


@contextlib.contextmanager
def going_first() -> Iterator[None]:
    """Have this thread run whenever it has to, but not what it starts; where that is allowed.

    The controller and its guard sleep nearly always. A service under SCHED_FIFO that takes all
    processors is not to keep them from ending that.
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
    """Why the kernel refused a schedule, in words that say what to do."""
    words = {
        errno.EBUSY: "the kernel admits no more deadline bandwidth",
        errno.EPERM: "not allowed: CAP_SYS_NICE is missing, or the thread is kept from some CPU"
        " (affinity, cpuset), or its control group has no cpu.rt_runtime_us",
        errno.EINVAL: "the kernel takes no such runtime and period",
    }
    return words.get(error.errno or 0, error.strerror or str(error))
