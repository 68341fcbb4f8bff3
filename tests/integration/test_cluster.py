"""A cluster of real containers: MPI, scaling, recovery, and nothing left behind."""

from __future__ import annotations

import json
import os
import random
import shlex
import sys
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from aferir import registry
from aferir.cli import main
from aferir.cluster import files, manager, packaging, running, storing, watch
from aferir.cluster.description import Boot, Description
from aferir.errors import MissingError, ProgramError, UsageError
from aferir.image import userland
from aferir.linux import journal, namespace, process
from tests.integration.cluster_support import SLURM, answer, entry_of, kill, kill_once, run
from tests.integration.support import killed_after, leftovers, own_state
from tests.waiting import eventually

pytestmark = pytest.mark.integration
BIN = Path(sys.executable).parent
WHO = ["mpirun", "sh", "-c", "echo $OMPI_COMM_WORLD_SIZE $(hostname)"]
RANKS = """
import ctypes
mpi = ctypes.CDLL("libmpi.so.40", ctypes.RTLD_GLOBAL)
world = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_world")))
rank, size = ctypes.c_int(), ctypes.c_int()
mpi.MPI_Init(None, None)
mpi.MPI_Comm_rank(world, ctypes.byref(rank))
mpi.MPI_Comm_size(world, ctypes.byref(size))
mpi.MPI_Barrier(world)
print(rank.value, "of", size.value)
mpi.MPI_Finalize()
"""
ON_NODES = {"1": "front,node1", "1.batch": "front", "1.0": "node1", "1.1": "front,node1"}
"""Nodes of the job and its steps: the script, mpirun's on the other node, and srun's."""
CREATING = """
from aferir.cluster import manager
from aferir.cluster.description import Boot, Description
print("go", flush=True)
while True:
    manager.create(Description(name="killed", nodes=2))
    manager.scale("killed", 3)
    manager.destroy("killed")
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        yield own_state(tmp_path_factory, patch)


@pytest.fixture(scope="module")
def cluster(own: Path) -> Iterator[str]:
    asked = Description(name="lab", nodes=2)
    try:
        manager.require(asked)
    except MissingError as error:
        pytest.skip(f"{error.message}; {error.remedy}")
    userland.ensure(extra=manager.packages(asked))
    assert main(["cluster", "create", "lab", "--nodes", "2"]) == 0
    yield "lab"
    assert list((own / "clusters").iterdir()) == [storing.folder("lab")]
    assert main(["cluster", "destroy", "lab"]) == 0
    assert nothing_is_left()


def test_mpi_runs_on_all_nodes_at_once(cluster: str) -> None:
    assert sorted(run(cluster, *WHO).splitlines()) == ["2 front", "2 node1"]


def test_home_is_shared_and_the_user_is_nobody_special(
    cluster: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "given").write_text("from the host\n")
    assert main(["cluster", "put", cluster, str(tmp_path / "given")]) == 0
    assert capsys.readouterr().out == "lab: ~/given is on all nodes\n"
    run(cluster, "sh", "-c", "cat given > taken; ssh node1 'id -un >> taken'")
    assert run(cluster, "cat", "taken") == "from the host\nuser\n"


def test_a_cluster_is_no_orphan_and_stays_when_cleaning(cluster: str) -> None:
    assert journal.orphans() == []
    assert main(["clean"]) == 0
    assert main(["cluster", "status", cluster]) == 0


def test_it_scales_up_and_back(cluster: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "scale", cluster, "4"]) == 0
    assert capsys.readouterr().out == "lab: 4 nodes are ready\n"
    assert sorted(run(cluster, *WHO).splitlines()) == [f"4 {n}" for n in NAMES[:4]]
    manager.scale(cluster, 2)
    assert sorted(run(cluster, *WHO).splitlines()) == ["2 front", "2 node1"]


def test_a_placement_is_advised_with_its_reason_and_taken(
    cluster: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = storing.read(cluster)
    assert main(["cluster", "pin", cluster, "--json"]) == 0
    advised = json.loads(capsys.readouterr().out)
    assert storing.read(cluster) == before
    assert "CPUs" in advised["reason"]
    assert main(["cluster", "pin", cluster, "--advised"]) == 0
    now = {node.name: list(node.cpus) for node in storing.read(cluster).nodes}
    assert now == advised["cpus"]
    assert main(["cluster", "pin", cluster, "front=0", "--advised"]) == 2


def test_pinned_nodes_run_where_they_are_told(cluster: str) -> None:
    host = sorted(os.sched_getaffinity(0))
    with pytest.raises(UsageError, match="cannot be pinned"):
        manager.pin(cluster, {"node1": (host[-1] + 1,)})
    manager.pin(cluster, {"front": (host[-1],), "node1": (host[0],)})
    seen = run(cluster, "mpirun", "sh", "-c", "echo $(hostname) $(taskset -pc $$)")
    placed = {("front", str(host[-1])), ("node1", str(host[0]))}
    assert {tuple(line.split()[::6]) for line in seen.splitlines()} == placed
    kill(cluster, "node1")
    eventually(lambda: main(["cluster", "status", cluster]) == 0, look_every_s=0.1)
    seen = run(cluster, "mpirun", "sh", "-c", "echo $(hostname) $(taskset -pc $$)")
    assert {tuple(line.split()[::6]) for line in seen.splitlines()} == placed


@pytest.mark.parametrize("name", ["node1", "front"])
def test_a_node_that_dies_is_replaced(cluster: str, name: str) -> None:
    run(cluster, "sh", "-c", "echo mine > kept")
    run(cluster, "touch", "/etc/written", root=True)
    kill(cluster, name)
    eventually(lambda: main(["cluster", "status", cluster]) == 0, look_every_s=0.1)
    assert sorted(run(cluster, *WHO).splitlines()) == ["2 front", "2 node1"]
    assert run(cluster, "cat", "kept", "/etc/written") == "mine\n"
    eventually(lambda: f"{name} died" in "".join(watch.log(cluster)[-1:]))


@pytest.mark.parametrize("boot", ["diskless", "disk"])
def test_a_worker_finds_again_what_it_wrote_only_where_it_has_a_disk(
    cluster: str, boot: Boot
) -> None:
    manager.create(Description(name="boots", nodes=2, boot=boot))
    try:
        run("boots", "ssh", "node1", "touch /etc/written", root=True)
        kept = storing.folder("boots") / "disks" / "node1" / "upper/etc/written"
        assert kept.exists() == (boot == "disk")
        kill("boots", "node1")
        manager.repair("boots")
        seen = run("boots", "ssh", "node1", "ls /etc/written || true", root=True)
        assert bool(seen) == (boot == "disk")
    finally:
        manager.destroy("boots")
    assert cluster in storing.names()


def test_a_job_whose_node_dies_fails_and_says_so_and_the_next_runs(cluster: str) -> None:
    ready = storing.folder(cluster) / "home/user/ready"
    killer = threading.Thread(target=kill_once, args=(cluster, "node1", ready), daemon=True)
    killer.start()
    job = ["mpirun", "-N", "1", "sh", "-c", "touch ready; exec sleep 3000"]
    with pytest.raises(ProgramError, match="because node1 died"):
        running.run(cluster, job)
    killer.join()
    eventually(lambda: main(["cluster", "status", cluster]) == 0, look_every_s=0.1)
    assert running.run(cluster, ["mpirun", "true"]) == 0


def test_after_a_reboot_it_comes_up_with_what_was_on_disks(cluster: str) -> None:
    """Nodes, network and watcher are all gone then, and the boot is another."""
    run(cluster, "touch", "/etc/written", root=True)
    state = storing.read(cluster)
    files.stop_watching(entry_of(state.entry))
    for node in state.nodes:
        kill(cluster, node.name)
    namespace.give_back(entry_of(state.network))
    assert main(["cluster", "status", cluster]) == 1
    assert main(["cluster", "up", cluster]) == 0
    assert sorted(run(cluster, *WHO).splitlines()) == ["2 front", "2 node1"]
    run(cluster, "test", "-e", "/etc/written")
    assert main(["cluster", "status", cluster]) == 0


def test_a_userland_from_a_tar_is_accepted_if_it_has_what_nodes_need(
    cluster: str, tmp_path: Path
) -> None:
    tree = Path(storing.read(cluster).image) / "tree"
    command = ["tar", "-C", str(tree), "-cf", str(tmp_path / "userland.tar")]
    asked = Description(name="other", nodes=1)
    process.run([*command, "./usr/sbin/sshd", "./bin"])
    with pytest.raises(UsageError, match="has no openmpi-bin"):
        packaging.create_from_archive(asked, tmp_path / "userland.tar")
    process.run([*command, "./usr/sbin/sshd", "./usr/bin/mpirun", "./usr/bin/ip"])
    with pytest.raises(UsageError, match="has no munge"):
        packaging.create_from_archive(replace(asked, slurm=True), tmp_path / "userland.tar")
    (tmp_path / "userland.tar").write_bytes(b"nothing of the kind" * 100)
    with pytest.raises(UsageError, match="cannot be unpacked"):
        packaging.create_from_archive(asked, tmp_path / "userland.tar")
    process.run([*command, "--exclude=./dev/*", "."])
    packaging.create_from_archive(asked, tmp_path / "userland.tar")
    try:
        assert run("other", "mpirun", "hostname") == "front\n"
    finally:
        manager.destroy("other")


def test_slurm_starts_mpi_on_new_nodes_too_and_keeps_account(cluster: str) -> None:
    manager.create(SLURM)
    try:
        manager.scale("batch", 2)
        home = storing.folder("batch") / "home/user"
        (home / "ranks.py").write_text(RANKS, encoding="ascii")
        script = "#!/bin/sh\n#SBATCH -N 2\nmpirun hostname > out\nsrun python3 ranks.py > ranks\n"
        (home / "job").write_text(script, encoding="ascii")
        run("batch", "sbatch", "-W", "job")
        assert sorted(run("batch", "cat", "out").split()) == ["front", "node1"]
        assert sorted(run("batch", "cat", "ranks").splitlines()) == ["0 of 2", "1 of 2"]
        asking = ("sacct", "-nP", "-o", "JobID,NodeList,State,TotalCPU")
        eventually(
            lambda: [word.count("COMPLETED") for word in answer("batch", *asking)] == [1] * 4
        )
        told = run("batch", *asking)
        steps = [line.split("|") for line in told.splitlines()]
        assert {step: nodes for step, nodes, _, _ in steps} == ON_NODES
        assert "00:00:00" not in {cpu_time for _, _, _, cpu_time in steps}
        kill("batch", "front")
        manager.repair("batch")
        eventually(lambda: answer("batch", *asking) == told.split())
    finally:
        manager.destroy("batch")
    assert cluster in storing.names()


def test_saved_and_loaded_it_gives_the_same_answers(
    cluster: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(cluster, "sh", "-c", "echo answer > kept")
    run(cluster, "touch", "/etc/written", root=True)
    saved = tmp_path / "lab.ova"
    packaging.save(cluster, saved)
    assert sorted(run(cluster, *WHO).splitlines()) == ["2 front", "2 node1"]
    whole = saved.read_bytes()
    (tmp_path / "cut.ova").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UsageError, match="truncated"):
        packaging.load(tmp_path / "cut.ova", name="loaded")
    descriptor = tmp_path / f"{cluster}.ovf"
    with tarfile.open(saved) as tar:
        tar.extract(descriptor.name, tmp_path, filter="data")
    check = ["cluster", "load", "--check", str(descriptor)]
    assert main(check) == 2
    assert f"there is a cluster `{cluster}` already" in capsys.readouterr().err
    assert main([*check, "--name", "loaded"]) == 0
    assert not storing.folder("loaded").exists()
    packaging.load(saved, name="loaded")
    try:
        assert sorted(run("loaded", *WHO).splitlines()) == ["2 front", "2 node1"]
        on_all = run("loaded", "mpirun", "sh", "-c", "cat kept; ls /etc/written")
        assert sorted(on_all.split()) == ["/etc/written"] * 2 + ["answer"] * 2
        moved(tmp_path, capsys)
    finally:
        if "loaded" in storing.names():
            manager.destroy("loaded")


def moved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Move the cluster `loaded` to a host that is this machine with another state folder."""
    there = {"AFERIR_STATE": str(tmp_path / "there"), "PATH": f"{BIN}:{os.environ['PATH']}"}
    hosts = tmp_path / "hosts.toml"
    breaking = tmp_path / "breaking" / "aferir"  # it could load the cluster, and then does not
    breaking.parent.mkdir()
    breaking.write_text(
        f'#!/bin/sh\ncase "$*" in *--check*) exec {BIN}/aferir "$@" ;; esac\nexit 4\n'
    )
    breaking.chmod(0o755)
    ways = {
        "breaks": {**there, "PATH": f"{breaking.parent}:/usr/bin:/bin"},
        "without": {"PATH": "/usr/bin:/bin"},
        "full": {**there, "AFERIR_STATE": "/dev/null/full"},
        "other": there,
    }
    for name, variables in ways.items():
        reach = tmp_path / name
        given = shlex.join(f"{key}={value}" for key, value in variables.items())
        reach.write_text(f'#!/bin/sh\nexec env {given} "$@"\n', encoding="utf-8")
        reach.chmod(0o755)
    tables = {name: f'[[host]]\nname = "{name}"\nreach = "{tmp_path / name}"\n' for name in ways}
    hosts.write_text("".join(tables.values()), encoding="utf-8")
    capsys.readouterr()
    for host, code in (("without", 3), ("full", 4), ("breaks", 4), ("nowhere", 2)):
        assert main(["cluster", "move", "loaded", str(hosts), host]) == code
        assert ("writing the disk" in capsys.readouterr().err) == (host == "breaks")
        assert sorted(run("loaded", *WHO).splitlines()) == ["2 front", "2 node1"]
    hosts.write_text(tables["without"])
    assert main(["cluster", "move", "loaded", str(hosts)]) == 3
    hosts.write_text(tables["full"])
    assert main(["cluster", "move", "loaded", str(hosts)]) == 0
    assert "loaded stays here" in capsys.readouterr().out
    hosts.write_text(tables["without"] + tables["full"] + tables["other"])
    assert main(["cluster", "move", "loaded", str(hosts), "--check"]) == 0
    said = capsys.readouterr()
    assert said.out == "loaded can be moved to other\n"
    assert "host without has no aferir" in said.err
    assert "other: clusters ask for 0 of" in said.err
    assert "loaded" in storing.names()
    try:
        assert main(["cluster", "move", "loaded", str(hosts)]) == 0
        assert "loaded" not in storing.names()
        on_it = ["cluster", "run", "loaded", "--", "mpirun", "cat", "kept"]
        done = process.run([f"{BIN}/aferir", *on_it], environment=there)
        assert done.stdout.split() == ["answer"] * 2
    finally:
        process.run([f"{BIN}/aferir", "cluster", "destroy", "loaded"], environment=there)


@pytest.mark.usefixtures("cluster")
def test_killed_at_any_moment_nothing_is_left_after_cleaning() -> None:
    draw = random.Random(7)  # noqa: S311 - not cryptography
    seen: set[str] = set()
    kills = 6

    def may_come() -> bool:
        """On a busy machine, all kills may come before anything is made: others follow then."""
        return kills > 0 or storing.folder("killed").exists()

    while kills > 0 or not seen:
        killed_after(draw.uniform(0, 0.9), CREATING, once=may_come)
        kills -= 1
        if "killed" in storing.names():
            manager.destroy("killed")
        seen |= {entry.kind for entry in journal.orphans()}
        assert registry.clean(journal.orphans()) == []
        assert journal.orphans() == []
        assert not storing.folder("killed").exists()


NAMES = ["front", "node1", "node2", "node3"]


def nothing_is_left() -> bool:
    assert leftovers() == []
    assert list((journal.state_folder() / "clusters").iterdir()) == []
    return True
