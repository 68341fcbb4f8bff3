"""The controller's own schedule, its measurements of the machine, and what it restores."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from aferir.cli import main
from aferir.colocation import attributes, remembered
from aferir.colocation.applying import Machine
from aferir.colocation.critical import Selector
from aferir.colocation.follow import Follower
from aferir.colocation.privileges import findings
from aferir.colocation.service import ServiceSpec
from aferir.colocation.settings import Batch, Schedule, Settings
from aferir.colocation.usage import Usage, between
from aferir.linux import journal, process
from aferir.linux.journal import Entry
from tests.integration.colocation_support import (
    announced,
    found,
    reserve,
    sleeping,
    start_thread,
)
from tests.integration.support import own_state, quota, throttled
from tests.waiting import eventually

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(
        any(finding.status == "missing" for finding in findings()),
        reason="scheduling other people's threads and making control groups takes root",
    ),
]


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    return own_state(tmp_path_factory, monkeypatch)


@pytest.fixture
def sleepers() -> Iterator[subprocess.Popen[str]]:
    with sleeping() as child:
        yield child


@pytest.fixture
def entry() -> Iterator[Entry]:
    with announced() as made:
        yield made


def test_a_thread_goes_first_for_a_while_and_its_children_do_not() -> None:
    before = attributes.read(0)
    with attributes.going_first():
        assert attributes.read(0).policy == attributes.FIFO
        asked = [sys.executable, "-c", "import os; print(os.sched_getscheduler(0))"]
        assert process.run(asked).stdout.strip() == str(os.SCHED_OTHER)
    assert attributes.read(0) == before


def test_cpu_use_of_foreign_reservations_is_reported_without_the_services_own() -> None:
    own = attributes.of(Schedule(policy="deadline", runtime_s=0.01, period_s=0.1))
    child = process.start(["sh", "-c", "while :; do :; done"])
    usage = Usage(None)
    try:
        reserve(child.pid, msgspec.structs.replace(own, flags=attributes.RESET_ON_FORK))
        first = usage.look({}, ())
        eventually(lambda: between(first, usage.look_quickly(())).others_reserved_cpus > 0)
        assert child.pid not in usage.look({}, (child.pid,)).others_reserved_s
    finally:
        usage.close()
        process.end(child)


def test_the_batch_program_is_held_suspended_and_killed(entry: Entry) -> None:
    machine = Machine(entry)
    child = process.start(
        ["sh", "-c", "while :; do :; done"], cgroups=list(machine.group.folders.values())
    )
    usage = Usage(machine.group)
    held = Batch(policy="idle", weight=10, quota_cpus=0.01)  # used up by a single slice
    machine.apply(Settings(batch=held), {})
    assert attributes.read(child.pid).policy == attributes.IDLE
    first = usage.look({}, ())
    eventually(lambda: throttled(machine.group.folders) > 0)
    assert quota(machine.group.folders) == pytest.approx(0.01)
    assert between(first, usage.look({}, ())).batch_cpus > 0
    machine.apply(Settings(batch=Batch(suspended=True)), {})

    def stands_still() -> bool:
        before = usage.look({}, ())
        time.sleep(0.2)
        return between(before, usage.look({}, ())).batch_cpus == 0.0

    eventually(stands_still)
    usage.close()
    assert remembered.undo(entry) == []
    assert child.wait() == -9


def test_clean_restores_what_a_killed_controller_and_a_killed_guard_left(
    sleepers: subprocess.Popen[str],
) -> None:
    before = found(sleepers.pid)
    code = (
        "import os, sys\n"
        "from aferir.linux import journal\n"
        "from aferir.colocation import remembered, service\n"
        "from aferir.colocation.applying import Machine\n"
        "from aferir.colocation.settings import Schedule, Settings\n"
        "machine = Machine(journal.write(remembered.KIND, {}))\n"
        f"machine.apply(Settings(service=Schedule(nice=-7)), service.threads(({sleepers.pid},)))\n"
        "os.kill(os.getpid(), 9)\n"
    )
    assert process.run([sys.executable, "-c", code], check=False).exit_code == -9
    assert found(sleepers.pid) != before
    assert main(["clean"]) == 0
    assert found(sleepers.pid) == before
    assert list(journal.entries()) == []


def test_threads_are_followed_as_they_come_and_go(sleepers: subprocess.Popen[str]) -> None:
    follower = Follower(ServiceSpec("pid", str(sleepers.pid)), Selector(all=True))
    follower.look(0.0, 0.0)
    assert len(follower.critical) == 4
    start_thread(sleepers)
    follower.look(0.1, 0.0)
    assert len(follower.critical) == 5
    sleepers.kill()
    sleepers.wait()
    follower.look(0.2, 0.0)
    assert follower.critical == frozenset()
    assert follower.pids == ()
