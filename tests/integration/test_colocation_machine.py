"""Actuators on real threads: what is set, what the kernel refuses, and that all is restored.

Reservations are small and their threads sleep, so that nobody else on the machine is held up.
"""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from aferir.colocation import admission, attributes, leaving, remembered, service
from aferir.colocation.applying import Machine
from aferir.colocation.privileges import findings
from aferir.colocation.settings import Batch, Schedule, Settings
from aferir.colocation.usage import Usage
from aferir.linux import process
from aferir.linux.journal import Entry
from tests.integration.colocation_support import (
    announced,
    found,
    nothing_leaked,
    sleeping,
    sound_account,
    start_thread,
)
from tests.integration.support import own_state

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(
        any(finding.status == "missing" for finding in findings()),
        reason="scheduling other people's threads and making control groups takes root",
    ),
]
_SMALL = Schedule(policy="deadline", runtime_s=0.001, period_s=0.05)


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    return own_state(tmp_path_factory, monkeypatch)


@pytest.fixture
def niceness() -> int:
    """Change of the nice value of a service."""
    return 0


@pytest.fixture
def sleepers(niceness: int) -> Iterator[subprocess.Popen[str]]:
    with sleeping(niceness) as child:
        yield child


@pytest.fixture
def entry() -> Iterator[Entry]:
    with announced() as made:
        yield made


@pytest.mark.parametrize("niceness", [0, 10])
@pytest.mark.parametrize(
    "settings",
    [
        Settings(service=_SMALL),
        Settings(service=Schedule(policy="fifo", priority=1)),
        Settings(service=Schedule(nice=5), service_cpus=(0,)),
        Settings(service=Schedule(nice=-5, cpus=(0,))),
        Settings(service=Schedule(policy="batch", nice=-3)),
        Settings(service=Schedule(policy="idle")),
    ],
    ids=["deadline", "fifo", "nice and cpus", "cpus of each thread", "batch", "idle"],
)
def test_all_threads_are_what_they_were_those_too_that_started_meanwhile(
    sleepers: subprocess.Popen[str], entry: Entry, settings: Settings
) -> None:
    before = found(sleepers.pid)
    bandwidth = sound_account()
    machine = Machine(entry)
    threads = service.threads((sleepers.pid,))
    named = Settings(
        threads=dict.fromkeys(threads, settings.service or _SMALL),
        service_cpus=settings.service_cpus,
    )
    assert machine.apply(named, threads).problems == ()
    assert all(now != before[tid] for tid, now in found(sleepers.pid).items())
    start_thread(sleepers)
    assert remembered.undo(entry) == []
    after = found(sleepers.pid)
    assert {tid: after[tid] for tid in before} == before
    new = [found for tid, found in after.items() if tid not in before and found is not None]
    first = before[sleepers.pid]
    assert first is not None
    assert [(f.attributes, f.cpus) for f in new] == [(first.attributes, first.cpus)]
    assert nothing_leaked(bandwidth)


def test_a_deadline_that_was_found_is_given_back(
    sleepers: subprocess.Popen[str], entry: Entry
) -> None:
    own = attributes.of(Schedule(policy="deadline", runtime_s=0.002, period_s=0.1))
    leaving.put(sleepers.pid, own)
    machine = Machine(entry)
    machine.apply(Settings(service=Schedule(nice=-5)), {sleepers.pid: sleepers.pid})
    assert attributes.read(sleepers.pid).policy == attributes.OTHER
    machine.apply(Settings(), {sleepers.pid: sleepers.pid})
    assert attributes.read(sleepers.pid) == own
    assert remembered.undo(entry) == []
    leaving.put(sleepers.pid, attributes.Attributes())


def test_more_than_the_kernel_admits_is_scaled_to_what_it_admits(
    sleepers: subprocess.Popen[str], entry: Entry
) -> None:
    machine = Machine(entry)
    threads = service.threads((sleepers.pid,))
    greedy = Schedule(policy="deadline", runtime_s=0.05, period_s=0.05)
    applied = machine.apply(Settings(threads=dict.fromkeys(threads, greedy)), threads)
    assert applied.problems == ()
    assert admission.reserved_cpus(applied.now.threads) == pytest.approx(
        machine.threads.free_cpus, abs=0.001
    )


def test_what_the_kernel_refuses_all_the_same_runs_first_among_the_fair(
    sleepers: subprocess.Popen[str], entry: Entry
) -> None:
    """EBUSY: somebody else has reserved since we looked; the next decision fits in the rest."""
    machine = Machine(entry)
    cores = float(os.cpu_count() or 1)
    free, machine.threads.free_cpus = machine.threads.free_cpus, cores
    threads = service.threads((sleepers.pid,))
    greedy = Schedule(policy="deadline", runtime_s=0.05, period_s=0.05)
    wanted = Settings(threads=dict.fromkeys(threads, greedy))
    applied = machine.apply(wanted, threads)
    assert any("no more deadline bandwidth" in problem for problem in applied.problems)
    assert admission.REFUSED in applied.now.threads.values()
    if admission.read_bandwidth() is not None:
        assert machine.threads.free_cpus == pytest.approx(free, abs=0.001)
    else:  # a kernel that shows no account: no more than was admitted can be taken for free
        admitted = admission.reserved_cpus(applied.now.threads)
        assert machine.threads.free_cpus == pytest.approx(admitted, abs=0.001)
    assert machine.apply(wanted, threads).problems == ()


def test_a_thread_that_is_kept_from_a_cpu_gets_no_deadline_but_goes_first(
    sleepers: subprocess.Popen[str], entry: Entry
) -> None:
    if (os.cpu_count() or 1) < 2:
        pytest.skip("there is one CPU only")
    os.sched_setaffinity(sleepers.pid, {0})
    threads = {sleepers.pid: sleepers.pid}
    applied = Machine(entry).apply(Settings(threads={sleepers.pid: _SMALL}), threads)
    assert any("affinity" in problem for problem in applied.problems)
    assert attributes.read(sleepers.pid).nice == admission.REFUSED.nice
    assert os.sched_getaffinity(sleepers.pid) == {0}


def test_a_thread_under_a_mask_of_ours_may_get_a_deadline(
    sleepers: subprocess.Popen[str], entry: Entry
) -> None:
    machine = Machine(entry)
    threads = service.threads((sleepers.pid,))
    machine.apply(Settings(service_cpus=(0,)), threads)
    assert os.sched_getaffinity(sleepers.pid) == {0}
    applied = machine.apply(Settings(threads={sleepers.pid: _SMALL}, service_cpus=(0,)), threads)
    assert applied.problems == ()
    assert attributes.read(sleepers.pid).policy == attributes.DEADLINE


def test_a_service_that_the_kernel_does_not_let_first_is_said_to_be_among_the_fair(
    sleepers: subprocess.Popen[str], entry: Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = leaving.put

    def refuse(tid: int, wanted: attributes.Attributes) -> float:
        if wanted.policy == attributes.FIFO:  # as RT_GROUP_SCHED does in a group without a budget
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
        return put(tid, wanted)

    monkeypatch.setattr(leaving, "put", refuse)
    machine = Machine(entry)
    before_all = Settings(service=Schedule(policy="fifo", priority=1))
    applied = machine.apply(before_all, service.threads((sleepers.pid,)))
    assert applied.problems
    assert applied.now.service == admission.REFUSED
    assert attributes.read(sleepers.pid).nice == -20


def test_threads_with_cpus_of_their_own_keep_within_those_they_were_found_with(
    sleepers: subprocess.Popen[str], entry: Entry
) -> None:
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("there is one CPU only")
    machine = Machine(entry)
    threads = service.threads((sleepers.pid,))
    kept, free = sorted(threads)[:2]
    os.sched_setaffinity(kept, {cpus[1]})
    apart = Settings(threads={tid: Schedule(cpus=(cpus[0],)) for tid in (kept, free)})
    assert machine.apply(apart, threads).problems == ()
    assert os.sched_getaffinity(kept) == {cpus[1]}
    assert os.sched_getaffinity(free) == {cpus[0]}
    assert machine.apply(Settings(threads={free: _SMALL}), threads).problems == ()
    assert attributes.read(free).policy == attributes.DEADLINE
    assert os.sched_getaffinity(free) == set(cpus)
    assert machine.apply(apart, threads).problems == ()
    assert os.sched_getaffinity(free) == {cpus[0]}
    assert machine.apply(Settings(), threads).problems == ()
    assert os.sched_getaffinity(free) == set(cpus)


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one CPU cannot be shared out")
def test_the_controller_runs_where_the_batch_may_but_not_what_it_starts(entry: Entry) -> None:
    machine = Machine(entry)
    every, last = os.sched_getaffinity(0), machine.all_cpus[-1:]
    try:
        machine.apply(Settings(batch=Batch(cpus=last)), {})
        assert os.sched_getaffinity(0) == set(last)
        with machine.everywhere():
            child = process.start(["sleep", "1000"])
        assert os.sched_getaffinity(child.pid) == every
        process.end(child, grace_s=0.1)
        assert os.sched_getaffinity(0) == set(last)
        machine.apply(Settings(), {})
        assert os.sched_getaffinity(0) == every
        machine.apply(Settings(batch=Batch(cpus=last)), {})
    finally:
        machine.leave()
    assert os.sched_getaffinity(0) == every


def test_a_thread_that_has_ended_is_no_problem(entry: Entry) -> None:
    machine = Machine(entry)
    gone = {4_194_305: os.getpid()}
    applied = machine.apply(Settings(threads=dict.fromkeys(gone, _SMALL)), gone)
    assert applied.problems == ()
    assert applied.now.threads == {}


def test_a_thread_that_left_the_service_is_given_back_at_once(
    sleepers: subprocess.Popen[str], entry: Entry
) -> None:
    before = attributes.read(sleepers.pid)
    machine = Machine(entry)
    machine.apply(Settings(service=Schedule(nice=7)), {sleepers.pid: sleepers.pid})
    assert attributes.read(sleepers.pid).nice == 7
    machine.apply(Settings(service=Schedule(nice=7)), {})
    assert attributes.read(sleepers.pid) == before


@pytest.mark.parametrize("nice", [0, 5])
def test_a_thread_under_sched_idle_has_its_nice_value_again(
    sleepers: subprocess.Popen[str], entry: Entry, nice: int
) -> None:
    """The kernel takes no nice value with SCHED_IDLE, which matters once the thread leaves it."""
    os.setpriority(os.PRIO_PROCESS, sleepers.pid, nice)
    attributes.write(sleepers.pid, attributes.Attributes(policy=attributes.IDLE))
    before = attributes.read(sleepers.pid)
    assert before.nice == nice
    machine = Machine(entry)
    machine.apply(Settings(service=Schedule(nice=-20)), {sleepers.pid: sleepers.pid})
    assert attributes.read(sleepers.pid).nice == -20
    machine.apply(Settings(service=Schedule(nice=-20)), {})
    assert attributes.read(sleepers.pid) == before


def test_the_same_settings_touch_nothing(sleepers: subprocess.Popen[str], entry: Entry) -> None:
    machine = Machine(entry)
    threads = service.threads((sleepers.pid,))
    settings = Settings(service=Schedule(nice=3), batch=Batch(weight=20))
    machine.apply(settings, threads)
    attributes.write(sleepers.pid, attributes.Attributes(nice=9))
    folders = machine.group.folders
    unified = folders.get("unified", Path()) / "cpu.weight"
    weight = folders["cpu"] / "cpu.shares" if "cpu" in folders else unified
    weight.write_text("77")
    machine.apply(settings, threads)
    assert attributes.read(sleepers.pid).nice == 9
    assert weight.read_text() == "77\n"


def test_more_threads_than_files_may_be_open_are_read_all_the_same(
    sleepers: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aferir.colocation.usage._MOST_OPEN", 2)
    usage = Usage(None)
    threads = service.threads((sleepers.pid,))
    assert usage.look(threads, ()).threads.keys() == threads.keys()
    assert usage.look(threads, ()).threads.keys() == threads.keys()
    usage.close()
