from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from aferir import registry
from aferir.environments import groups
from aferir.environments.base import Environment, Instance
from aferir.errors import MissingError, ProgramError
from aferir.linux import cgroup, journal, undo
from aferir.model.plan import EnvironmentSpec
from tests.integration.contract import Contract
from tests.integration.support import (
    allocated,
    leftovers,
    own_state,
    spinning,
    usable,
)

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


class TestContainer(Contract):
    kind = "container"
    longest_start_s = 0.25


def test_it_is_alone_with_loopback_and_its_own_processes(instance: Instance) -> None:
    links = instance.run(["ip", "-o", "link"]).stdout.splitlines()
    assert [line.split(":")[1].strip() for line in links] == ["lo"]
    assert "UP" in links[0]
    numbers = instance.run(["sh", "-c", "cd /proc; ls -d [0-9]*"]).stdout.split()
    assert "1" in numbers
    assert len(numbers) < 8
    assert instance.run(["sh", "-c", "echo x > /dev/shm/x"]).exit_code == 0


def test_more_memory_than_allowed_is_refused(environment: Environment) -> None:
    for instance in allocated(environment, spec(memory_bytes=2**26)):
        with pytest.raises(ProgramError):
            instance.run(["sh", "-c", "head -c 200m /dev/zero | tail -c 200m > /dev/null; exit $?"])
        instance.run(["sh", "-c", "head -c 10m /dev/zero | tail -c 10m > /dev/null"])


def test_its_processes_are_in_its_groups(instance: Instance) -> None:
    folders = instance.accounting.cgroups.values()
    with spinning(instance) as program:
        program.until_it_computes()
        assert all(len(cgroup.members(folder)) >= 3 for folder in folders)


def test_what_is_paused_in_a_group_below_its_own_ends_with_it(environment: Environment) -> None:
    """As an instance that was made in it, and whose maker was killed while it was paused."""
    instance = environment.allocate(spec())
    version = "freezer" if "freezer" in instance.accounting.cgroups else "unified"
    own = instance.accounting.cgroups[version]
    below = own / "below"
    below.mkdir()
    for pid in cgroup.members(own):
        (below / "cgroup.procs").write_text(str(pid), encoding="ascii")
    groups.freeze({version: below}, frozen=True)
    instance.release()
    assert leftovers() == []


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
