from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

from aferir import registry
from aferir.environments.base import Environment, Instance
from aferir.errors import MissingError, ProgramError
from aferir.linux import cgroup, journal, undo
from aferir.model.plan import EnvironmentSpec
from tests.integration.support import (
    allocated,
    check_commands,
    check_files,
    check_pause,
    check_quota,
    check_timeout,
    groups_of,
    leftovers,
    own_state,
    usable,
)
from tests.waiting import eventually

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def environment() -> Environment:
    return usable("container")


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    return own_state(tmp_path_factory, monkeypatch)


@pytest.fixture
def instance(environment: Environment) -> Iterator[Instance]:
    yield from allocated(environment, spec())


def spec(**changes: object) -> EnvironmentSpec:
    values = {"name": "c", "kind": "container", "cpus": 1, "memory_bytes": 2**28, **changes}
    return EnvironmentSpec(**values)  # type: ignore[arg-type]


def test_programs_run_as_anywhere_else(instance: Instance) -> None:
    check_commands(instance)


def test_a_time_limit_ends_everything(instance: Instance) -> None:
    check_timeout(instance)


def test_files_go_in_and_out(instance: Instance, tmp_path: Path) -> None:
    check_files(instance, tmp_path)


def test_a_link_of_the_container_does_not_lead_to_the_host(
    instance: Instance, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("host")
    instance.run(["ln", "-s", str(tmp_path), "/trap"])
    with pytest.raises(ProgramError):
        instance.get(PurePosixPath("/trap/secret"), tmp_path / "stolen")


def test_it_is_alone_with_loopback_and_its_own_processes(instance: Instance) -> None:
    links = instance.run(["ip", "-o", "link"]).stdout.splitlines()
    assert [line.split(":")[1].strip() for line in links] == ["lo"]
    assert "UP" in links[0]
    numbers = instance.run(["sh", "-c", "cd /proc; ls -d [0-9]*"]).stdout.split()
    assert "1" in numbers
    assert len(numbers) < 8
    assert instance.run(["sh", "-c", "echo x > /dev/shm/x"]).exit_code == 0


def test_phases_add_up(instance: Instance) -> None:
    phases = instance.phases
    parts = (phases.copied_s, phases.booted_s, phases.ready_s)
    assert all(part is not None and part > 0 for part in parts)
    assert sum(part or 0 for part in parts) == pytest.approx(phases.total_s)


def test_what_one_writes_the_next_does_not_see(environment: Environment) -> None:
    for _ in range(2):
        for instance in allocated(environment, spec()):
            assert instance.run(["test", "-e", "/etc/mine"], check=False).exit_code == 1
            instance.run(["sh", "-c", "echo x > /etc/mine; rm /bin/ls"])


def test_a_quota_of_a_tenth_gives_a_tenth(environment: Environment) -> None:
    for instance in allocated(environment, spec(cpu_quota=0.1)):
        check_quota(instance, 0.1)


def test_more_memory_than_allowed_is_refused(environment: Environment) -> None:
    for instance in allocated(environment, spec(memory_bytes=2**26)):
        with pytest.raises(ProgramError):
            instance.run(["sh", "-c", "head -c 200m /dev/zero | tail -c 200m > /dev/null; exit $?"])
        instance.run(["sh", "-c", "head -c 10m /dev/zero | tail -c 10m > /dev/null"])


def test_the_last_cpu_is_the_only_one_where_pinned(environment: Environment) -> None:
    last = max(os.sched_getaffinity(0))
    for instance in allocated(environment, spec(pin=(last,))):
        done = instance.run(["sh", "-c", "nproc; grep Cpus_allowed_list /proc/self/status"])
        assert done.stdout.split() == ["1", "Cpus_allowed_list:", str(last)]


def test_its_processes_are_in_its_groups(instance: Instance) -> None:
    child = threading.Thread(target=instance.run, args=(["sleep", "3"],))
    child.start()
    folders = instance.accounting.cgroups.values()
    eventually(lambda: all(len(cgroup.members(folder)) >= 3 for folder in folders))
    child.join()


def test_a_paused_one_uses_no_cpu(instance: Instance) -> None:
    check_pause(instance, lambda: _cpu_s(instance))


def test_releasing_twice_and_while_paused_is_fine(environment: Environment) -> None:
    instance = environment.allocate(spec())
    ids = [entry.id for entry in journal.entries()]
    instance.pause()
    assert instance.release() > 0
    instance.release()
    assert groups_of(ids) == []
    assert leftovers() == []
    with pytest.raises(ProgramError):
        instance.run(["true"])


def test_a_failed_start_leaves_nothing(environment: Environment) -> None:
    with pytest.raises(ProgramError, match="did not start"):
        environment.allocate(spec(memory_bytes=1))
    assert leftovers() == []
    with pytest.raises(MissingError):
        environment.allocate(spec(cpus=9999))
    assert leftovers() == []


def test_cleaning_half_made_things_is_harmless(state: Path) -> None:
    containers = str(state / "containers")
    entries = [
        journal.write("container", {"containers": containers}),
        journal.write("vm", {"vms": str(state / "vms")}),
        journal.write("trial", {"folder": str(state / "vms")}),
        journal.write("image", {"folder": str(state / "images")}),
        journal.write("cgroup", {}),
        journal.write("mount", {"folder": str(state / "mounted")}),
        journal.write("process", {"pid": str(os.getpid()), "started": "1"}),
    ]
    (state / "containers" / f"aferir-{entries[0].id}" / "upper").mkdir(parents=True)
    assert registry.clean(entries) == []
    assert registry.clean(entries) == []
    assert leftovers() == []
    assert undo.kill_marked("nobody") == 0


def _cpu_s(instance: Instance) -> float:
    groups = instance.accounting.cgroups
    if "cpuacct" in groups:
        return int((groups["cpuacct"] / "cpuacct.usage").read_text()) / 1e9
    text = (groups["unified"] / "cpu.stat").read_text()
    return int(text.split()[1]) / 1e6
