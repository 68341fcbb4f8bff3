"""A cluster of real guests: MPI, recovery, and a saved package that is loaded as containers.

Its worker boots from the network; in the clusters that are loaded, nodes boot from their host.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from aferir.cli import main
from aferir.cluster import manager, packaging, running, storing
from aferir.cluster.description import Description
from aferir.errors import MissingError, ProgramError
from aferir.image import userland
from tests.integration.cluster_support import kill, kill_once, run
from tests.integration.support import leftovers, own_state
from tests.waiting import eventually

pytestmark = pytest.mark.integration
NAME = "guests"
WHO = ["mpirun", "-N", "1", "hostname"]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    asked = Description(name=NAME, nodes=2, kind="vm", memory_bytes=2**29, boot="pxe")
    try:
        manager.require(asked)
    except MissingError as error:
        pytest.skip(f"{error.message}; {error.remedy}")
    userland.ensure(extra=manager.packages(asked))
    with pytest.MonkeyPatch.context() as patch:
        own_state(tmp_path_factory, patch)
        options = ["--nodes", "2", "--kind", "vm", "--memory", "512MiB", "--boot", "pxe"]
        assert main(["cluster", "create", NAME, *options]) == 0
        yield NAME
        assert main(["cluster", "destroy", NAME]) == 0
        assert leftovers() == []


def test_the_first_program_runs_on_all_guests_which_have_kernels_of_their_own(cluster: str) -> None:
    assert sorted(run(cluster, *WHO).split()) == ["front", "node1"]
    assert run(cluster, "uname", "-r") != f"{os.uname().release}\n"


def test_the_worker_has_root_home_and_kernel_parameters_from_the_network(cluster: str) -> None:
    look = "cat /proc/cmdline; grep -c :/ /proc/mounts; ls /sys/block /sys/bus/virtio/devices"
    seen = run(cluster, "ssh", "node1", look).split()
    assert {"aferir.name=node1", "aferir.address=10.77.0.2"} <= set(seen)
    assert seen[-4:] == ["2", "/sys/block:", "/sys/bus/virtio/devices:", "virtio0"]


def test_a_job_whose_guest_dies_names_it_and_the_guest_is_replaced(cluster: str) -> None:
    """The worker holds in RAM what it writes, and starts afresh; home stays."""
    on_worker = "ssh node1 touch /tmp/written; echo answer > kept"
    run(cluster, "sh", "-c", on_worker)
    ready = storing.folder(cluster) / "home/user/ready"
    killer = threading.Thread(target=kill_once, args=(cluster, "node1", ready), daemon=True)
    killer.start()
    job = ["mpirun", "-N", "1", "sh", "-c", "touch ready; exec sleep 3000"]
    with pytest.raises(ProgramError, match="because node1 died"):
        running.run(cluster, job)
    killer.join()
    eventually(lambda: main(["cluster", "status", cluster]) == 0, look_every_s=0.1)
    seen = run(cluster, "mpirun", "-N", "1", "sh", "-c", "cat kept; ls -d /tmp/written || hostname")
    assert sorted(seen.split()) == ["answer", "answer", "front", "node1"]


def test_a_front_end_that_dies_finds_its_disk_again(cluster: str) -> None:
    run(cluster, "sh", "-c", "echo mine > /etc/written; sync", root=True)
    kill(cluster, "front")
    eventually(lambda: main(["cluster", "status", cluster]) == 0, look_every_s=0.1)
    assert run(cluster, "cat", "/etc/written") == "mine\n"


def test_saved_by_guests_it_comes_back_as_containers(cluster: str, tmp_path: Path) -> None:
    run(cluster, "sh", "-c", "echo answer > kept")
    packaging.save(cluster, tmp_path / "lab.ova")
    assert run(cluster, "cat", "kept") == "answer\n"
    packaging.load(tmp_path / "lab.ova", name="loaded", kind="container")
    try:
        on_all = run("loaded", "mpirun", "sh", "-c", "cat kept; ls /etc/written; hostname")
        assert sorted(on_all.split()) == ["/etc/written"] * 2 + ["answer"] * 2 + ["front", "node1"]
    finally:
        manager.destroy("loaded")


@pytest.mark.usefixtures("cluster")
def test_saved_by_containers_it_comes_back_as_guests_with_the_disk_of_a_worker(
    tmp_path: Path,
) -> None:
    manager.create(Description(name="boxes", nodes=2, boot="disk", memory_bytes=2**29))
    try:
        run("boxes", "ssh", "node1", "echo mine > /etc/written", root=True)
        packaging.save("boxes", tmp_path / "boxes.ova")
    finally:
        manager.destroy("boxes")
    packaging.load(tmp_path / "boxes.ova", kind="vm")
    try:
        seen = run("boxes", "ssh", "node1", "cat /etc/written; uname -r", root=True).split()
        assert seen[0] == "mine"
        assert seen[1] != os.uname().release
    finally:
        manager.destroy("boxes")
