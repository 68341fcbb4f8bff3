"""Hosts that a batch system allocates: Slurm nodes on a cluster of ours, and Kubernetes pods."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from aferir import allocations
from aferir.cli.running import reached
from aferir.cluster import manager
from aferir.cluster.description import Description
from aferir.errors import MissingError, UsageError
from aferir.hosts import reaching
from aferir.hosts.environment import Host, RemoteEnvironment
from aferir.image import userland
from aferir.linux import journal, process
from aferir.model.host import AllocationSpec, HostSpec, KubernetesKeys, SlurmKeys
from aferir.model.plan import EnvironmentSpec
from tests.integration.cluster_support import SLURM, answer, run
from tests.integration.support import own_state
from tests.waiting import eventually

pytestmark = pytest.mark.integration
EXPERIMENT = """
[experiment]
name = "lent"
baseline = "one"
warmup = 0
[stop]
repetitions = 1
[slurm]
by = {by}
options = "--time=10"
[[environment]]
name = "one"
kind = "native"
host = "slurm:1"
[[environment]]
name = "two"
kind = "native"
host = "slurm:2"
[[workload]]
name = "where"
program = "command"
command = {command}
environments = {environments}
"""
KUBECTL = """#!/bin/sh
# Pods that are this machine: what is created, waited for and deleted is written down.
shift
case $1 in
exec) shift 4; exec "$@" ;;
create) cat > {folder}/pods ;;
*) echo "$1" >> {folder}/told ;;
esac
"""


@pytest.fixture(scope="module")
def batch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A cluster of two containers with Slurm."""
    with pytest.MonkeyPatch.context() as patch:
        own_state(tmp_path_factory, patch)
        asked = Description(name="lent", nodes=2, slurm=True, memory_bytes=2**29)
        try:
            manager.require(asked)
            image = userland.ensure(extra=manager.packages(SLURM)).folder
        except MissingError as error:
            pytest.skip(f"{error.message}; {error.remedy}")
        manager.create_from(asked, lambda _: image)
        try:
            eventually(lambda: answer("lent", "sinfo", "-h", "-N", "-o", "%T") == ["idle"] * 2)
            yield "lent"
        finally:
            manager.destroy("lent")


def experiment(folder: Path, command: list[str], environments: list[str]) -> Path:
    by = shlex.join((sys.executable, "-m", "aferir", "cluster", "run", "lent", "--"))
    text = EXPERIMENT.format(
        by=json.dumps(by), command=json.dumps(command), environments=json.dumps(environments)
    )
    path = folder / "lent.toml"
    path.write_text(text, encoding="utf-8")
    return path


def jobs(cluster: str) -> list[str]:
    return run(cluster, "squeue", "-h", "-o", "%j").split()


def test_a_run_is_on_nodes_of_slurm_and_gives_them_back(batch: str, tmp_path: Path) -> None:
    script = 'hostname; test "$(id -un)" = user; "$AFERIR_ENTER" node1 hostname'
    file = experiment(tmp_path, ["sh", "-ec", script], ["two"])
    child = process.start(
        [sys.executable, "-m", "aferir", "run", str(file), "--runs", str(tmp_path / "runs")],
        stdout=-1,
        stderr=-1,
    )
    out, err = child.communicate()
    assert child.returncode == 0, out + err
    assert jobs(batch) == []
    assert not [entry for entry in journal.entries() if entry.kind == "slurm"]


def test_a_controller_that_is_killed_leaves_no_job(batch: str, tmp_path: Path) -> None:
    file = experiment(tmp_path, ["sleep", "4344"], ["one"])
    child = process.start(
        [sys.executable, "-m", "aferir", "run", str(file), "--runs", str(tmp_path / "runs")],
        stdout=-1,
        stderr=-1,
    )
    listed = ("squeue", "-h", "-o", "%j")
    eventually(lambda: any(name.startswith("aferir-") for name in answer(batch, *listed)))
    child.kill()
    child.communicate()
    eventually(lambda: jobs(batch) == [])


def test_what_slurm_refuses_is_said_in_its_words(batch: str, tmp_path: Path) -> None:
    file = experiment(tmp_path, ["true"], ["one"])
    text = file.read_text(encoding="utf-8").replace("--time=10", "--partition=none")
    file.write_text(text, encoding="utf-8")
    child = process.start(
        [sys.executable, "-m", "aferir", "run", str(file), "--runs", str(tmp_path / "runs")],
        stdout=-1,
        stderr=-1,
    )
    _, err = child.communicate()
    assert child.returncode == MissingError.exit_code
    assert "invalid partition" in err
    assert jobs(batch) == []


@pytest.fixture
def pods(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[HostSpec]:
    """Two pods as hosts. The way to a pod alone: a cluster of Kubernetes is not here."""
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path / "state"))
    (tmp_path / "kubectl").write_text(KUBECTL.format(folder=tmp_path), encoding="utf-8")
    (tmp_path / "kubectl").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    lent = AllocationSpec(name="kubernetes:2", nodes=2, keys=KubernetesKeys(namespace="lab"))
    return [HostSpec(name=f"p{k}", reach=(), allocated=lent, number=k) for k in (1, 2)]


def test_pods_are_deleted_where_the_plan_is_refused(pods: list[HostSpec], tmp_path: Path) -> None:
    """It is judged by what the hosts have, so they are allocated by then."""
    with pytest.raises(UsageError), reached(pods):
        raise UsageError("more CPUs than there are", remedy="")
    assert (tmp_path / "told").read_text(encoding="utf-8").split() == ["wait", "delete"]
    assert not [entry for entry in journal.entries() if entry.kind == "kubernetes"]


def test_pods_are_hosts_and_are_deleted(pods: list[HostSpec], tmp_path: Path) -> None:
    found = reaching.reach(pods)
    try:
        made = json.loads((tmp_path / "pods").read_text(encoding="utf-8"))["items"]
        assert len({pod["metadata"]["name"] for pod in made}) == 2
        spec = EnvironmentSpec(name="n", kind="native", cpus=1, memory_bytes=2**28)
        for host in found.hosts.values():
            assert isinstance(host, Host)
            instance = RemoteEnvironment(host, "native").allocate(spec)
            assert instance.run(["echo", "there"]).stdout == "there\n"
            instance.release()
    finally:
        found.close()
    assert (tmp_path / "told").read_text(encoding="utf-8").split() == ["wait", "delete"]
    assert not [entry for entry in journal.entries() if entry.kind == "kubernetes"]


@pytest.mark.parametrize("keys", [SlurmKeys, KubernetesKeys])
def test_ssh_to_a_batch_system_asks_for_no_password(
    keys: type[SlurmKeys | KubernetesKeys], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stand-in would ask for ever unless it is told not to."""
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path / "state"))
    ssh = tmp_path / "ssh"
    text = "case $* in *BatchMode=yes*) echo 'Permission denied (publickey).' >&2; exit 255;; esac"
    ssh.write_text(f"#!/bin/sh\n{text}\nexec sleep 4345\n", encoding="utf-8")
    ssh.chmod(0o755)
    name = "slurm:1" if keys is SlurmKeys else "kubernetes:1"
    spec = AllocationSpec(name=name, nodes=1, keys=keys(by=(str(ssh), "login")))
    with pytest.raises(MissingError, match=r"Permission denied \(publickey\)"):
        allocations.allocate(spec)
