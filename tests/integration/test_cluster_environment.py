"""Clusters as environments of experiments, with real containers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import ClassVar

import msgspec
import pytest

from aferir import registry
from aferir.cluster import manager, storing
from aferir.cluster.instance import Cluster, ClusterSpec
from aferir.environments import tenants
from aferir.environments.base import Environment, Instance
from aferir.errors import ProgramError
from aferir.image import userland
from aferir.linux import journal, namespace
from tests.integration.contract import EveryKind, cpu_ns
from tests.integration.support import allocated, leftovers, own_state, usable
from tests.waiting import eventually

pytestmark = pytest.mark.integration
SPEC = ClusterSpec(name="lab", cpus=1, memory_bytes=2**28, nodes=2)
WHO = ["mpirun", "sh", "-c", "echo $OMPI_COMM_WORLD_SIZE $(hostname)"]
ALLOCATING = f"""
import time
from aferir.cluster.instance import Cluster, ClusterSpec
Cluster().allocate({SPEC!r})
print("made", flush=True)
time.sleep(600)
"""


@pytest.fixture(scope="module", autouse=True)
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        yield own_state(tmp_path_factory, patch)


@pytest.fixture(scope="module")
def clusters(own: Path) -> Cluster:  # noqa: ARG001 - its state is ours
    made = usable("cluster")
    assert isinstance(made, Cluster)
    return made


@pytest.fixture(scope="module")
def lab(clusters: Cluster) -> Iterator[Instance]:
    yield from allocated(clusters, SPEC)


class TestClusterKind(EveryKind):
    """The contract on one shared cluster, for tests that leave it as it was."""

    kind = "cluster"
    keys: ClassVar = {"nodes": 2}
    inside = PurePosixPath("/opt/aferir")
    kills = 3
    longest_start_s = 3.0
    entries = (manager.KIND, namespace.KIND, "container", "process", "mount")

    @pytest.fixture(autouse=True)
    def state(self, own: Path) -> Path:
        return own

    @pytest.fixture
    def environment(self, clusters: Cluster) -> Environment:
        return clusters

    @pytest.fixture
    def instance(self, lab: Instance) -> Instance:
        return lab

    def used(self, instance: Instance) -> float:
        return sum(cpu_ns(node) for node in instance.accounting.members.values())


def test_mpi_runs_on_all_nodes(lab: Instance) -> None:
    assert sorted(lab.run(WHO).stdout.splitlines()) == ["2 front", "2 node1"]


def test_programs_are_on_all_nodes(lab: Instance, tmp_path: Path) -> None:
    (tmp_path / "who").write_text("#!/bin/sh\nhostname\n")
    (tmp_path / "who").chmod(0o755)
    lab.put(tmp_path / "who", PurePosixPath("/opt/aferir/who"))
    done = lab.run(["mpirun", "-N", "1", "/opt/aferir/who"])
    assert sorted(done.stdout.split()) == ["front", "node1"]
    with pytest.raises(ProgramError, match="no folder that the nodes"):
        lab.put(tmp_path / "who", PurePosixPath("/etc/who"))


def test_it_is_listed_nowhere_and_each_node_has_its_accounts(lab: Instance) -> None:
    assert storing.names() == []
    assert list(lab.accounting.members) == ["front", "node1"]
    assert all(own.processes for own in lab.accounting.members.values())


def test_two_at_once_do_not_see_one_another(clusters: Cluster) -> None:
    two = ClusterSpec(name="two", cpus=1, memory_bytes=2**28, nodes=2, tenants=2)
    instance = tenants.allocate(clusters, two)
    try:
        done = instance.run(WHO)
        for one in (done, *done.others):
            assert sorted(one.stdout.splitlines()) == ["2 front", "2 node1"]
        assert list(instance.accounting.members) == ["tenant 1", "tenant 2"]
    finally:
        instance.release()


def test_a_later_userland_with_another_open_mpi_uses_all_nodes(clusters: Cluster) -> None:
    """Needs an image that takes a minute to build, and is skipped without it."""
    if userland.find(userland.host_recipe(manager.PACKAGES, "trixie")) is None:
        pytest.skip("the image of Debian 13 is not built; see experiments/cluster-distributions")
    instance = clusters.allocate(msgspec.structs.replace(SPEC, suite="trixie"))
    try:
        assert sorted(instance.run(WHO).stdout.splitlines()) == ["2 front", "2 node1"]
        assert 'VERSION_ID="13"' in instance.run(["cat", "/etc/os-release"]).stdout
    finally:
        instance.release()


@pytest.mark.usefixtures("clusters")
def test_one_whose_maker_was_killed_is_removed_by_cleaning() -> None:
    before = {entry.id for entry in journal.entries()}
    child = subprocess.Popen([sys.executable, "-c", ALLOCATING], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "made\n"
    assert registry.clean(journal.orphans()) == []
    assert {e.kind for e in journal.entries() if e.id not in before} >= {manager.KIND, "container"}
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()
    eventually(lambda: registry.clean(journal.orphans()) == [] and not journal.orphans())
    assert {entry.id for entry in journal.entries()} == before
    assert [line for line in leftovers() if not any(i in line for i in before)] == []
