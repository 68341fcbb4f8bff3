"""Threads that leave SCHED_DEADLINE, which Linux lets them do only with care, and are given back.

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
    stat_fields,
    thread_started,
    write,
)
from aferir.colocation.settings import Schedule
from aferir.linux import scheduling

_LIKE_NOTHING_NS = 1_100_000_000
"""In so long a period the shortest runtime is less than 1/2^20 of a CPU, which the kernel's
account takes for none (to_ratio, kernel/sched/core.c)."""
_NOTHING = Attributes(
    policy=DEADLINE,
    flags=RESET_ON_FORK,
    runtime_ns=LEAST_RUNTIME_NS,
    deadline_ns=_LIKE_NOTHING_NS,
    period_ns=_LIKE_NOTHING_NS,
)
_LEAST_TICKS_PER_S = 100
"""Least tick rate of the kernel (CONFIG_HZ)."""
_LEAST_AWAY_S = 0.5
_LONGEST_AWAY_S = 10.0
_PATIENCE_NS = 250_000_000
_POLL_S = 0.001


def put(tid: int, wanted: Attributes) -> float:
    """Set attributes, leaving SCHED_DEADLINE without a trace. Errors: as of `write`.

    Returned are the seconds after which the thread may have a reservation again, where those are
    more than `away_s` says.

    What Linux 6.18 makes of a thread that leaves (switched_from_dl, kernel/sched/deadline.c):

    - asleep for longer than its 0-lag time, it keeps its bandwidth reserved for ever; so it is
      shrunk to nothing first;
    - shrunk while it could run, it gets its next runtime at that rate, and its deadline is seconds
      ahead, hours if it owes any; so it goes straight, and its bandwidth follows at its 0-lag time.
      One that wakes just then is seen to have, goes a second time, and stays away for longer;
    - throttled, it stays so under a new reservation for ever, unless its 0-lag time has passed by
      then: see `away_s`. That time is forgotten where it is shrunk. One that has fallen asleep
      throttled is waited for; it is given its runtime within a period.
    """
    before = read(tid)
    leaving = before.policy == DEADLINE != wanted.policy
    if leaving and _is_asleep_unthrottled(tid, before.period_ns):
        return _leave(tid, before, wanted)
    write(tid, wanted)
    return 0.0


def away_s(left: Schedule) -> float:
    """How long a thread has to stay away that has left that reservation, in seconds.

    A period until the kernel would give it runtime, and as long as it takes to work off what it
    used too much of until a tick.
    """
    owed_s = 2 / _LEAST_TICKS_PER_S
    needed_s = 2 * left.period_s * (1 + owed_s / max(left.runtime_s, LEAST_RUNTIME_NS / 1e9))
    return min(max(_LEAST_AWAY_S, needed_s), _LONGEST_AWAY_S)


def rescue(tid: int) -> bool:
    """Have a deadline thread run among the fair that its reservation keeps from running at all.

    For one that has not run for many periods, see `put`. Whether it was one. Errors: as of `write`.
    """
    stuck = read(tid).policy == DEADLINE and _could_run(tid) and _account(tid)[0] <= 0
    if stuck:
        write(tid, Attributes(flags=RESET_ON_FORK))
    return stuck


def _is_asleep_unthrottled(tid: int, period_ns: int) -> bool:
    """Whether it sleeps and has runtime, or owes from an earlier reservation, or never ran."""
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
    """Leave by way of a reservation of nothing, and with as little time in between as can be.

    As `put`.

    One that has woken meanwhile may owe runtime, at the rate of that nothing, and would not run
    under a reservation for hours: it takes up its own again and goes straight. Its deadline may
    be that of the nothing.
    """
    shrunk, after = as_given(_NOTHING), as_given(wanted)
    turns = _turns(tid)
    with contextlib.suppress(OSError):  # EBUSY where the kernel's account is off: it goes straight
        scheduling.set_(tid, shrunk)
    try:
        scheduling.set_(tid, after)
    except OSError:
        write(tid, before)
        raise
    if _could_run(tid) or _turns(tid) != turns:
        with contextlib.suppress(OSError):  # EBUSY where somebody else has reserved it by now
            write(tid, before)
        write(tid, wanted)
        return 2 * _NOTHING.period_ns / 1e9
    return 0.0


def _turns(tid: int) -> str:
    """How often it has been given a processor (schedstats of the kernel's documentation)."""
    return read_quickly(f"/proc/{tid}/schedstat").rpartition(" ")[2]


def _could_run(tid: int) -> bool:
    """Whether it runs or would if it might."""
    return stat_fields(f"/proc/{tid}/stat")[:1] == ["R"]


def _account(tid: int) -> tuple[int, int]:
    """Runtime left, as counted at the last tick, and next deadline of a deadline thread, in ns.

    Some and none where the kernel is silent.
    """
    found = {"dl.runtime": 1, "dl.deadline": 0}
    for line in read_quickly(f"/proc/{tid}/sched").splitlines():
        name, _, value = line.partition(":")
        if name.strip() in found:
            found[name.strip()] = int(value)
    return found["dl.runtime"], found["dl.deadline"]


def restore(found: Found) -> str:
    """Make a thread what it was; a sentence where that failed, "" where it worked or has ended."""
    if thread_started(found.pid, found.tid) != found.started:
        return ""
    try:
        if read(found.tid) != found.attributes:
            put(found.tid, restorable(found.attributes))
        if tuple(sorted(os.sched_getaffinity(found.tid))) != found.cpus:
            os.sched_setaffinity(found.tid, found.cpus)
    except ProcessLookupError:
        return ""
    except OSError as error:
        return f"thread {found.tid} of process {found.pid}: {error.strerror}"
    return ""
