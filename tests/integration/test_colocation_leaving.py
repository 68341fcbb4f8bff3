"""Threads leave SCHED_DEADLINE so that they can return to it, and leak no bandwidth."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from aferir.colocation import admission, attributes, batch, leaving, remembered, schedules
from aferir.colocation.applying import Machine
from aferir.colocation.attributes import Attributes
from aferir.colocation.privileges import findings
from aferir.colocation.settings import Schedule, Settings
from aferir.linux import cgroup, journal, process, scheduling
from tests.integration.colocation_support import (
    nothing_leaked,
    once,
    ran_within,
    reserve,
    runs,
    sound_account,
)
from tests.integration.support import own_state
from tests.waiting import eventually

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(
        any(finding.status == "missing" for finding in findings()),
        reason="scheduling other people's threads takes root",
    ),
]
_BUSY = "while True: pass"
_ASLEEP = "import time; time.sleep(1000)"
_IN_TURNS = """
import time
while True:
    until = time.monotonic() + 0.02
    while time.monotonic() < until: pass
    time.sleep(0.01)
"""
_ASLEEP_AT_TIMES = """
import time
while True:
    until = time.monotonic() + 1.0
    while time.monotonic() < until: pass
    time.sleep(2.0)
"""
_OTHER = Attributes()
_RELEASED_S = 10.0
"""Several of the longest periods: what is reserved after that is a leak."""
_COUNTS_AGAIN = pytest.mark.skipif(
    tuple(map(int, os.uname().release.split("-")[0].split(".")[:2])) < (6, 15),
    reason="before Linux 6.15 what is leaked stays so",
)
_CPUS = tuple(sorted(os.sched_getaffinity(0)))


@pytest.fixture
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    return own_state(tmp_path_factory, monkeypatch)


@pytest.fixture
def child(request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
    before = sound_account()
    started = process.start(
        [sys.executable, "-c", f"print('ready', flush=True)\n{request.param}"],
        stdout=subprocess.PIPE,
    )
    assert started.stdout is not None
    started.stdout.readline()
    if request.param == _ASLEEP:
        eventually(lambda: attributes.stat_fields(f"/proc/{started.pid}/stat")[0] == "S")
    yield started
    with contextlib.suppress(ProcessLookupError):
        attributes.write(started.pid, _OTHER)  # one that is kept throttled could not be killed
    process.end(started, grace_s=0.1)
    if not nothing_leaked(before, _RELEASED_S):
        admission.count_again()  # one that fell asleep just when it left keeps what it had
        assert nothing_leaked(before)


class _Clock:
    """A clock that stands still however long others keep us from the processor."""

    def __init__(self) -> None:
        self.now_s = time.monotonic()

    def monotonic(self) -> float:
        return self.now_s


def _schedule(runtime_s: float, period_s: float) -> Schedule:
    return Schedule(policy="deadline", runtime_s=runtime_s, period_s=period_s)


def _reserved(runtime_s: float, period_s: float) -> Attributes:
    return attributes.of(_schedule(runtime_s, period_s))


def _reserved_for(tid: int, seconds: float, reservation: Attributes) -> None:
    """Give a thread a reservation, wait, and let it leave at once, whatever it does."""
    reserve(tid, reservation)
    time.sleep(seconds)
    attributes.write(tid, _OTHER)


@pytest.mark.parametrize("child", [_BUSY], indirect=True)
@pytest.mark.parametrize("period_s", [0.02, 0.4])
def test_a_thread_whose_reservation_is_taken_while_it_is_throttled_runs_under_the_next_one(
    child: subprocess.Popen[str], period_s: float
) -> None:
    reserve(child.pid, _reserved(period_s / 10, period_s))
    time.sleep(1.5 * period_s)
    leaving.put(child.pid, _OTHER)
    runs(child.pid)
    time.sleep(leaving.away_s(_schedule(period_s / 10, period_s)))
    reserve(child.pid, _reserved(0.05, 0.1))
    runs(child.pid)
    leaving.put(child.pid, _OTHER)


@pytest.mark.parametrize("child", [_BUSY, _IN_TURNS], indirect=True)
def test_no_moment_of_leaving_keeps_a_thread_from_running_later(
    child: subprocess.Popen[str],
) -> None:
    draw = random.Random(1)  # noqa: S311 - not cryptography
    held = _schedule(0.004, 0.01)
    for _ in range(10):
        reserve(child.pid, attributes.of(held))
        runs(child.pid)
        time.sleep(draw.uniform(0.0, 0.03))
        away_s = max(leaving.away_s(held), leaving.put(child.pid, _OTHER))
        time.sleep(away_s + draw.uniform(0.0, 0.03))


@pytest.mark.parametrize("child", [_BUSY], indirect=True)
@pytest.mark.parametrize("late_s", [0.0, 0.05])
def test_a_thread_that_wakes_while_it_is_shrunk_runs_under_the_next_reservation(
    child: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch, late_s: float
) -> None:
    """Simulates that the thread which saw it sleep is kept from the processor before it acts.

    `late_s`: and after each act; where its next deadline is then too far ahead, it has to run so.
    """
    draw = random.Random(3)  # noqa: S311 - not cryptography
    held = _schedule(0.004, 0.01)
    set_ = scheduling.set_

    def set_late(tid: int, wanted: scheduling.SchedAttr) -> None:
        set_(tid, wanted)
        time.sleep(late_s)

    for _ in range(3):
        reserve(child.pid, attributes.of(held))
        time.sleep(draw.uniform(0.02, 0.04))
        with monkeypatch.context() as late:
            late.setattr(leaving, "_is_asleep_unthrottled", lambda *_: True)
            late.setattr(scheduling, "set_", set_late)
            away_s = leaving.put(child.pid, _OTHER)
        if away_s > _RELEASED_S:
            runs(child.pid)
            break
        time.sleep(max(leaving.away_s(held), away_s))
        reserve(child.pid, attributes.of(held))
        runs(child.pid)
        leaving.put(child.pid, _OTHER)
        time.sleep(leaving.away_s(held))


@pytest.mark.parametrize("child", [_ASLEEP], indirect=True)
def test_a_thread_leaves_though_the_kernel_refuses_to_shrink_it(
    child: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """EBUSY: its account is below 0, and a smaller reservation is one too many as well."""
    reserve(child.pid, _reserved(0.004, 0.01))
    set_ = scheduling.set_

    def refuse(tid: int, wanted: scheduling.SchedAttr) -> None:
        if wanted.policy == attributes.DEADLINE:
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
        set_(tid, wanted)

    monkeypatch.setattr(scheduling, "set_", refuse)
    leaving._leave(child.pid, _reserved(0.004, 0.01), _OTHER)
    monkeypatch.undo()
    assert attributes.read(child.pid).policy == attributes.OTHER
    admission.count_again()


@pytest.mark.usefixtures("state")
@pytest.mark.parametrize("child", [_BUSY], indirect=True)
def test_a_thread_that_has_left_runs_at_nice_minus_20_until_it_returns(
    child: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Settings(threads={child.pid: _schedule(0.005, 0.01)})
    threads = {child.pid: child.pid}
    clock = _Clock()
    monkeypatch.setattr(schedules, "time", clock)
    machine = Machine(entry := journal.write(remembered.KIND, {}))
    machine.apply(held, threads)
    machine.apply(Settings(), threads)
    machine.apply(held, threads)
    assert attributes.read(child.pid).policy == attributes.OTHER
    assert attributes.read(child.pid).nice == admission.REFUSED.nice
    away_s = leaving.away_s(held.threads[child.pid])
    time.sleep(away_s)
    clock.now_s += away_s
    machine.apply(held, threads)
    assert attributes.read(child.pid).policy == attributes.DEADLINE
    runs(child.pid)
    assert remembered.undo(entry) == []


@pytest.mark.usefixtures("state")
@pytest.mark.parametrize("child", [_ASLEEP_AT_TIMES], indirect=True)
def test_a_thread_that_the_kernel_throttles_for_ever_runs_among_the_fair_from_then_on(
    child: subprocess.Popen[str],
) -> None:
    nothing, held = (
        _reserved(1.1e-6, 4.0),
        _schedule(0.005, 0.01),
    )
    reserve(child.pid, _reserved(0.02, 0.2))
    eventually(lambda: not ran_within(child.pid, 0.05))
    if leaving._account(child.pid) == (1, 0):
        pytest.skip("the kernel does not tell what is left of a reservation")
    attributes.write(child.pid, nothing)
    attributes.write(child.pid, _OTHER)
    # Until it is given a reservation in its sleep.
    eventually(lambda: not ran_within(child.pid, 0.3))
    machine = Machine(entry := journal.write(remembered.KIND, {}))
    machine.apply(Settings(threads={child.pid: held}), {child.pid: child.pid})
    eventually(lambda: attributes.stat_fields(f"/proc/{child.pid}/stat")[0] != "S")

    def is_rescued() -> bool:
        machine.rescue([child.pid])  # when it is throttled, be it for ever or for a period
        return attributes.read(child.pid).policy == attributes.OTHER

    eventually(is_rescued)
    machine.apply(Settings(threads={child.pid: held}), {child.pid: child.pid})
    assert attributes.read(child.pid).policy == attributes.OTHER
    for _ in range(3):
        runs(child.pid)
    assert remembered.undo(entry) == []


@_COUNTS_AGAIN
@pytest.mark.parametrize("child", [_BUSY], indirect=True)
def test_an_account_below_0_is_counted_again_where_it_is_asked_for(
    child: subprocess.Popen[str],
) -> None:
    below = []

    def is_counted() -> bool:
        before = sound_account()
        _reserved_for(child.pid, 0.05, _reserved(0.1, 0.5))
        admission.count_again()  # too soon: it is given back a second time
        time.sleep(1.5)
        found = admission.read_bandwidth()
        below.append(found is not None and found.total < 0)
        return not below[-1] or admission.sound_bandwidth() == before

    assert once(is_counted)
    if not any(below):
        pytest.skip("this kernel gives nothing back twice, or does not tell")


@_COUNTS_AGAIN
@pytest.mark.parametrize("child", [_ASLEEP], indirect=True)
def test_bandwidth_without_a_holder_is_gone_after_a_recount(
    child: subprocess.Popen[str],
) -> None:
    leaks = []

    def is_gone() -> bool:
        before = sound_account()
        _reserved_for(child.pid, 0.2, _reserved(0.004, 0.01))
        time.sleep(0.2)
        leaks.append(admission.read_bandwidth() != before)
        admission.count_again()
        return admission.read_bandwidth() == before

    assert once(is_gone)
    if not any(leaks):
        pytest.skip("this kernel leaks no bandwidth, or does not tell")


@pytest.mark.parametrize("child", [_BUSY], indirect=True)
def test_a_batch_group_that_comes_and_goes_meanwhile_changes_no_account(
    child: subprocess.Popen[str],
) -> None:
    before = sound_account()
    if before is None:
        pytest.skip("the kernel's account of deadline bandwidth cannot be read here")

    def account_stays() -> bool:
        _reserved_for(child.pid, 0.01, _reserved(0.3, 2.0))
        meanwhile = [admission.read_bandwidth()]
        name = f"aferir-{secrets.token_hex(4)}"
        group = batch.make(name, batch.parents(cgroup.layout(), None), _CPUS)
        try:
            meanwhile.append(admission.read_bandwidth())
        finally:
            for folder in group.folders.values():
                folder.rmdir()
        meanwhile.append(admission.read_bandwidth())
        return meanwhile == meanwhile[:1] * 3

    assert once(account_stays)
    assert nothing_leaked(before)


@pytest.mark.parametrize("child", [_ASLEEP], indirect=True)
def test_a_thread_that_never_ran_in_a_long_period_leaves_nothing_behind(
    child: subprocess.Popen[str],
) -> None:

    def nothing_stays() -> bool:
        before = sound_account()
        reserve(child.pid, _reserved(0.1, 2.5))
        time.sleep(0.1)
        leaving.put(child.pid, _OTHER)
        return admission.read_bandwidth() == before

    assert once(nothing_stays)


@pytest.mark.parametrize("child", [_ASLEEP, _BUSY], indirect=True)
def test_bandwidth_that_was_left_behind_is_no_longer_reserved(child: subprocess.Popen[str]) -> None:
    before = sound_account()
    if before is None:
        pytest.skip("the kernel's account of deadline bandwidth cannot be read here")
    draw = random.Random(2)  # noqa: S311 - not cryptography
    for _ in range(40):
        reserve(child.pid, _reserved(0.002, 0.02))
        time.sleep(draw.uniform(0.0, 0.06))
        leaving.put(child.pid, _OTHER)
    assert nothing_leaked(before)  # at the end of its period
