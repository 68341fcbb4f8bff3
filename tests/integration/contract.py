"""Tests that every kind of environment must pass.

One test file for a kind derives a class from `EveryKind`, or from `Contract` where its instances
are the host's processes, and says its name; what is particular to the kind it tests beside that.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

import pytest

from aferir import registry
from aferir.environments import tenants
from aferir.environments.base import Accounting, Environment, Instance
from aferir.errors import MissingError, ProgramError
from aferir.linux import cgroup, journal
from aferir.model.plan import SCRATCH, EnvironmentSpec
from tests.integration.support import (
    allocated,
    check_commands,
    check_files,
    check_pause,
    check_quota,
    check_timeout,
    groups_of,
    killed_after,
    leftovers,
    own_state,
    usable,
)

SEED = 34
ALLOCATING = """
import json, sys
from aferir import registry
kind, keys = sys.argv[1], json.loads(sys.argv[2])
values = {"name": "k", "kind": kind, "cpus": 1, "memory_bytes": 2**28, "cpu_quota": 0.9, **keys}
spec = registry.kinds()[kind].spec(**values)
environment = registry.by_kind(kind)
print("go", flush=True)
while True:
    instance = environment.allocate(spec)
    instance.run(["sh", "-c", "sleep 1000 > /dev/null 2>&1 & sleep 0.02"])
    instance.release()
"""


class EveryKind:
    """Derive from it, and say the `kind`; the class's name begins with Test."""

    kind: str
    keys: ClassVar[Mapping[str, Any]] = {}
    """Keys of the kind's own table that the instances of these tests have."""
    inside: ClassVar[PurePosixPath | None] = None
    """A folder of the instance for programs; None: any will do."""
    kills = 6
    """How often its maker is killed; 0 for a kind that makes nothing."""
    longest_start_s = 0.4
    """Within which a kill comes: about what one allocation takes here, and its end."""
    here = True
    """Whether its instances are on this machine."""
    entries: ClassVar[Collection[str]] = ()
    """Kinds of entries that it writes into the journal; empty: those of its own name."""

    def spec(self, **changes: object) -> EnvironmentSpec:
        kind = registry.kinds()[self.kind]
        values = {"cpus": 1, "memory_bytes": 2**28, **self.keys, **changes}
        assert values.keys() <= {field.attribute for field in kind.keys}
        return kind.spec(name="one", kind=self.kind, **values)

    def used(self, instance: Instance) -> float:
        """What the host says that the instance has used of its CPUs."""
        return cpu_ns(instance.accounting)

    @pytest.fixture(autouse=True)
    def state(
        self, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
    ) -> Path:
        return own_state(tmp_path_factory, monkeypatch)

    @pytest.fixture
    def environment(self) -> Environment:
        return usable(self.kind)

    @pytest.fixture
    def instance(self, environment: Environment) -> Iterator[Instance]:
        yield from allocated(environment, self.spec())

    def test_programs_run_as_anywhere_else(self, instance: Instance) -> None:
        check_commands(instance)

    def test_a_time_limit_ends_everything(self, instance: Instance) -> None:
        check_timeout(instance)

    def test_files_go_in_and_out(self, instance: Instance, tmp_path: Path) -> None:
        check_files(instance, tmp_path, self.inside)

    def test_a_paused_one_uses_no_cpu(self, instance: Instance) -> None:
        if registry.kinds()[self.kind].on_host:
            pytest.skip("nothing runs on the host between two commands")
        check_pause(instance, lambda: self.used(instance))

    def test_it_competes_for_cpus_as_every_other_kind_does(self, instance: Instance) -> None:
        """All its processes weigh as much as one of our own nice value: arms are alike."""
        if not self.here:
            pytest.skip("its instances compete where they are")
        have = cgroup.layout()
        root, file = have.v1.get("cpu"), "cpu.shares"
        if root is None:  # cgroup-v2.rst: 100 of cpu.weight is 1,024 of cpu.shares
            root, file = have.v2, "cpu.weight.nice"
        parts = {part for path in instance.accounting.cgroups.values() for part in path.parts}
        names = {part for part in parts if part.startswith("aferir-")}
        names |= {f"aferir-{entry.id}" for entry in journal.entries()}  # of a cluster's nodes
        made = [p for name in names for p in cgroup.find(name, have) if p.parent == root]
        weights = {int((path / file).read_text(encoding="ascii")) for path in made}
        own = cgroup.weight_of(os.nice(0)) if file == "cpu.shares" else os.nice(0)
        assert own in weights
        if os.nice(0) == 0:
            assert weights == {own}

    def test_releasing_twice_and_while_paused_is_fine(self, environment: Environment) -> None:
        before = {entry.id for entry in journal.entries()}
        instance = environment.allocate(self.spec())
        ids = [entry.id for entry in journal.entries() if entry.id not in before]
        instance.pause()
        assert instance.release() > 0
        instance.release()
        assert groups_of(ids) == []
        assert {entry.id for entry in journal.entries()} == before
        if not registry.kinds()[self.kind].on_host:
            with pytest.raises(ProgramError):
                instance.run(["true"])

    def test_whatever_a_kill_leaves_is_removed(
        self,
        environment: Environment,
        tmp_path_factory: pytest.TempPathFactory,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """Whenever it comes: while an instance is made, used, or given back."""
        if not self.kills:
            pytest.skip("it makes nothing")
        assert environment.kind == self.kind
        own_state(tmp_path_factory, monkeypatch)  # a short path: sockets of guests are in it
        kill_at_random_moments(
            self.kind, self.keys, self.longest_start_s, kills=self.kills, entries=self.entries
        )
        self.check_nothing_left()

    def check_nothing_left(self) -> None:
        """What the tool itself might keep."""


class Contract(EveryKind):
    """For kinds whose instances are the host's processes, in control groups."""

    own_processes = True
    own_kernel = False

    def test_a_link_of_the_instance_does_not_lead_to_the_host(
        self, instance: Instance, tmp_path: Path
    ) -> None:
        (tmp_path / "secret").write_text("host", encoding="ascii")
        instance.run(["ln", "-s", str(tmp_path), "/trap"])
        with pytest.raises(ProgramError):
            instance.get(PurePosixPath("/trap/secret"), tmp_path / "stolen")

    def test_it_sees_its_own_processes_alone(self, instance: Instance) -> None:
        numbers = instance.run(["sh", "-c", "cd /proc; echo [0-9]*"]).stdout.split()
        assert (len(numbers) < 8) == self.own_processes

    def test_phases_add_up(self, instance: Instance) -> None:
        phases = instance.phases
        parts = (phases.copied_s, phases.booted_s, phases.ready_s)
        assert all(part is not None and part > 0 for part in parts)
        assert sum(part or 0 for part in parts) == pytest.approx(phases.total_s)

    def test_what_one_writes_the_next_does_not_see(self, environment: Environment) -> None:
        for _ in range(2):
            for instance in allocated(environment, self.spec()):
                assert instance.run(["test", "-e", "/etc/mine"], check=False).exit_code == 1
                instance.run(["sh", "-c", "echo x > /etc/mine; rm /bin/ls"])

    def test_a_quota_holds_it(self, environment: Environment) -> None:
        for instance in allocated(environment, self.spec(cpu_quota=0.1)):
            check_quota(instance, 0.1)

    def test_it_may_have_a_disk_of_its_own(self, environment: Environment) -> None:
        if "disk" not in [key.key for key in registry.kinds()[self.kind].keys]:
            pytest.skip("a guest's disk is its own anyway")
        for instance in allocated(environment, self.spec(disk_bytes=2**27)):
            look = f"df -P ${SCRATCH} | tail -1; echo ${SCRATCH} ${SCRATCH}/*; : > ${SCRATCH}/x"
            for _ in range(2):  # the second finds none of the first one's files
                wants = {SCRATCH: "/tmp"}
                words = instance.run(["sh", "-c", look], environment=wants).stdout.split()
                assert 2**26 < int(words[1]) * 1024 < 2**27
                assert words[-1] == f"{words[-2]}/*"

    def test_more_memory_than_allowed_is_refused(self, environment: Environment) -> None:
        for instance in allocated(environment, self.spec(memory_bytes=2**27)):
            # The program is killed, or the instance with it that has a kernel of its own.
            with pytest.raises(ProgramError):
                instance.run(["sh", "-c", "head -c 300m /dev/zero | tail -c 300m > /dev/null"])

    def test_the_last_cpu_is_the_only_one_where_pinned(self, environment: Environment) -> None:
        last = max(os.sched_getaffinity(0))
        for instance in allocated(environment, self.spec(pin=(last,))):
            assert instance.run(["nproc"]).stdout.strip() == "1"
            for pid in instance.accounting.processes:
                assert os.sched_getaffinity(pid) == {last}

    def test_its_processes_are_in_its_groups(self, instance: Instance) -> None:
        groups = instance.accounting.cgroups
        assert {"cpuacct", "memory"} <= groups.keys() or "unified" in groups
        assert instance.accounting.processes
        assert instance.accounting.own_kernel == self.own_kernel
        for folder in groups.values():
            assert set(instance.accounting.processes) <= cgroup.members(folder)

    def test_tenants_do_the_same_at_once(self, environment: Environment) -> None:
        together = tenants.allocate(environment, self.spec(tenants=2))
        try:
            done = together.run(["echo", "here"])
            assert [done.stdout, *(one.stdout for one in done.others)] == ["here\n", "here\n"]
        finally:
            together.release()
        assert leftovers() == []

    def test_a_failed_start_leaves_nothing(self, environment: Environment) -> None:
        with pytest.raises(MissingError):
            environment.allocate(self.spec(cpus=9999))
        assert leftovers() == []


def kill_at_random_moments(
    kind: str,
    keys: Mapping[str, Any],
    longest_s: float,
    *,
    kills: int = 6,
    entries: Collection[str] = (),
) -> None:
    """Kill whoever makes instances again and again, and see that cleaning removes all there is.

    On a busy machine, all kills may come before anything is made: others follow then.
    """
    draw = random.Random(SEED)  # noqa: S311 - not cryptography
    seen: set[str] = set()

    def may_come() -> bool:
        return kills > 0 or any(True for _ in journal.entries())

    while kills > 0 or not seen:
        arguments = (kind, json.dumps(dict(keys)))
        killed_after(draw.uniform(0, longest_s), ALLOCATING, *arguments, once=may_come)
        kills -= 1
        orphans = journal.orphans()
        seen.update(entry.kind for entry in orphans)
        for _ in range(2):
            problems = registry.clean(orphans)
            assert problems == [], problems
            assert leftovers() == []
            assert groups_of([entry.id for entry in orphans]) == []
    assert seen <= set(entries or [kind])


def cpu_ns(accounting: Accounting) -> int:
    """What an instance, or a member of one, has used, by its control group."""
    groups = accounting.cgroups
    if "cpuacct" in groups:
        return int((groups["cpuacct"] / "cpuacct.usage").read_text(encoding="ascii"))
    text = (groups["unified"] / "cpu.stat").read_text(encoding="ascii")
    return int(text.split()[1])
