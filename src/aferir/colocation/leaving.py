"""Takes threads out of SCHED_DEADLINE despite the kernel's faults there, and restores them.

Sources: kernel/sched/deadline.c of Linux 6.18, Documentation/scheduler/sched-deadline.rst.
"""

from __future__ import annotations

import contextlib
import os
import time

from aferir.colocation.attributes import (
    DEADLINE,
    LEAST_RUNTIME_NS,
    RESET_ON_FORK,
    Attributes,
    Found,
    as_given,
    read,
    read_quickly,
    restorable,
    restore_nice,
    stat_fields,
    thread_started,
    write,
)
from aferir.colocation.settings import Schedule
from aferir.linux import scheduling

_LIKE_NOTHING_NS = 1_100_000_000
"""Period in ns of a reservation that counts as nothing: with the shortest runtime it is less than
1/2^20 of a CPU, which the kernel's account rounds to 0 (to_ratio, kernel/sched/core.c).
"""
_NOTHING = Attributes(
    policy=DEADLINE,
    flags=RESET_ON_FORK,
    runtime_ns=LEAST_RUNTIME_NS,
    deadline_ns=_LIKE_NOTHING_NS,
    period_ns=_LIKE_NOTHING_NS,
)
_LEAST_TICKS_PER_S = 100
"""Lowest tick rate of the kernel in Hz (CONFIG_HZ)."""
_LEAST_AWAY_S = 0.5
_LONGEST_AWAY_S = 10.0
_PATIENCE_NS = 250_000_000
_POLL_S = 0.001


def put(tid: int, wanted: Attributes) -> float:
    """Set a thread's attributes so that leaving SCHED_DEADLINE does not leave bandwidth reserved.

    Returns the seconds after which the thread may have a reservation again if that is longer than
    `away_s`, else 0. Errors: as `write`.

    Linux 6.18 mishandles threads that leave the class (switched_from_dl, kernel/sched/deadline.c):

    - A thread that has slept beyond its 0-lag time (when its reserved share has made up for the CPU
      time that it used) keeps its bandwidth reserved for ever. Its reservation is therefore first
      shrunk to almost nothing.
    - A thread that is shrunk while runnable gets its next runtime at the shrunk rate, with a
      deadline seconds ahead, or hours if it owes runtime. A runnable thread therefore leaves
      directly, and its bandwidth is released at its 0-lag time. If a thread wakes meanwhile, this
      is detected; it leaves a second time and stays without a reservation until that deadline.
    - A throttled thread stays throttled under a new reservation for ever, unless its 0-lag time has
      passed by then (see `away_s`); shrinking discards that time. If a thread fell asleep
      throttled, this waits until its runtime is replenished, which takes at most a period.
    """
    before = read(tid)
    leaving = before.policy == DEADLINE != wanted.policy
    if leaving and _is_asleep_unthrottled(tid, before.period_ns):
        return _leave(tid, before, wanted)
    write(tid, wanted)
    return 0.0


def away_s(left: Schedule) -> float:
    """Seconds for which a thread must stay without a reservation after leaving this one.

    The time covers one period, after which the kernel would replenish the runtime, and the time to
    work off an overrun of up to two ticks. Both are doubled, and the sum is limited to 0.5 to 10 s.
    """
    owed_s = 2 / _LEAST_TICKS_PER_S
    needed_s = 2 * left.period_s * (1 + owed_s / max(left.runtime_s, LEAST_RUNTIME_NS / 1e9))
    return min(max(_LEAST_AWAY_S, needed_s), _LONGEST_AWAY_S)


def rescue(tid: int) -> bool:
    """Move a thread to the fair class if its reservation keeps it from running at all.

    Call it for threads that have not run for many periods; see `put` for the cause. Returns whether
    the thread was stuck. Errors: as `write`.
    """
    stuck = read(tid).policy == DEADLINE and _could_run(tid) and _account(tid)[0] <= 0
    if stuck:
        write(tid, Attributes(flags=RESET_ON_FORK))
    return stuck


def _is_asleep_unthrottled(tid: int, period_ns: int) -> bool:
    """Whether the thread sleeps and can leave through a smaller reservation (see `put`).

    If it sleeps throttled, this waits for its runtime to be replenished, up to a period or 250 ms.
    False if it can run, or is still throttled then.
    """
    until_ns = time.monotonic_ns() + min(period_ns, _PATIENCE_NS)
    while not _could_run(tid):
        runtime_ns, deadline_ns = _account(tid)
        if runtime_ns > 0 or deadline_ns == 0:
            return True
        if (now_ns := time.monotonic_ns()) > until_ns:  # close to the kernel's clock of deadlines
            return period_ns <= _PATIENCE_NS or deadline_ns < now_ns
        time.sleep(_POLL_S)
    return False


def _leave(tid: int, before: Attributes, wanted: Attributes) -> float:
    """Leave SCHED_DEADLINE through an almost empty reservation, as quickly as possible.

    Returns the same as `put`. If the thread has woken meanwhile, it may owe runtime at the rate of
    the small reservation, and would then not run under a later reservation for hours. It therefore
    takes its own reservation again and leaves directly. Its deadline may still be that of the small
    one, or, if this thread was kept from the processor for 20 ms meanwhile, an hour ahead.
    """
    shrunk, after = as_given(_NOTHING), as_given(wanted)
    turns = _turns(tid)
    with contextlib.suppress(OSError):  # EBUSY if the kernel's account is wrong: leave directly
        scheduling.set_(tid, shrunk)
    try:
        scheduling.set_(tid, after)
    except OSError:
        write(tid, before)
        raise
    if _could_run(tid) or _turns(tid) != turns:
        ahead_ns = 2 * _NOTHING.period_ns
        with contextlib.suppress(OSError):  # EBUSY if another program has reserved it by now
            write(tid, before)
            ahead_ns = max(ahead_ns, _account(tid)[1] - time.monotonic_ns())
        write(tid, wanted)
        return ahead_ns / 1e9
    return 0.0


def _turns(tid: int) -> str:
    """Number of times that the thread was scheduled (Documentation/scheduler/sched-stats.rst)."""
    return read_quickly(f"/proc/{tid}/schedstat").rpartition(" ")[2]


def _could_run(tid: int) -> bool:
    """Whether the thread is runnable (state R)."""
    return stat_fields(f"/proc/{tid}/stat")[:1] == ["R"]


def _account(tid: int) -> tuple[int, int]:
    """Remaining runtime, as of the last tick, and next deadline of a deadline thread, in ns.

    Returns 1 and 0 if the kernel does not report them.
    """
    found = {"dl.runtime": 1, "dl.deadline": 0}
    for line in read_quickly(f"/proc/{tid}/sched").splitlines():
        name, _, value = line.partition(":")
        if name.strip() in found:
            found[name.strip()] = int(value)
    return found["dl.runtime"], found["dl.deadline"]


def restore(found: Found) -> str:
    """Restore a thread; returns why that failed, or "" if it succeeded or the thread has ended."""
    if thread_started(found.pid, found.tid) != found.started:
        return ""
    try:
        if read(found.tid) != found.attributes:
            put(found.tid, restorable(found.attributes))
            restore_nice(found.tid, found.attributes)
        if tuple(sorted(os.sched_getaffinity(found.tid))) != found.cpus:
            os.sched_setaffinity(found.tid, found.cpus)
    except ProcessLookupError:
        return ""
    except OSError as error:
        return f"thread {found.tid} of process {found.pid}: {error.strerror}"
    return ""
