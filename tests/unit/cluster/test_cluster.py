"""Virtual clusters: description, names, addresses, placement, and the nodes' files."""

from __future__ import annotations

import argparse
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.cluster import configuration, manager, slurm, storing
from aferir.cluster import description as d
from aferir.cluster.description import Description
from aferir.cluster.verbs import create, put
from aferir.errors import UsageError
from aferir.linux import journal

LAB = Description(name="lab", nodes=3, cpus=2)


@pytest.mark.parametrize("name", ["", "Lab", "1a", "a_b", "a/b", "..", "a" * 32, "a\n"])
def test_a_name_that_is_no_host_and_no_folder_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="name of a cluster"):
        d.check(Description(name=name))


@pytest.mark.parametrize(
    "wrong",
    [
        *({"nodes": 0}, {"nodes": 251}, {"cpus": 0}, {"memory_bytes": 2**20}),
        {"accounting": True},
        {"accounting": True, "slurm": True, "memory_bytes": 2**27},
    ],
)
def test_a_cluster_that_cannot_be_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError):
        d.check(msgspec.structs.replace(LAB, **wrong))


@pytest.mark.parametrize("where", ["option", "file"])
def test_a_cluster_that_stays_is_not_made_on_several_hosts(where: str, tmp_path: Path) -> None:
    file = tmp_path / "lab.toml"
    file.write_text('name = "lab"\nhost = ["a", "b"]\n', encoding="utf-8")
    parser = argparse.ArgumentParser()
    create.configure(parser)
    words = {"option": ["lab", "--hosts", "nodes.toml"], "file": ["--file", str(file)]}
    with pytest.raises(UsageError, match="ends with it") as refused:
        create.wanted(parser.parse_args(words[where]))
    assert "aferir cluster move" in refused.value.remedy


@pytest.mark.parametrize(
    ("text", "told", "remedy"),
    [
        pytest.param("node = 4", "no key `node`", "did you mean `nodes`", id="unknown key"),
        pytest.param('nodes = "4"', "`int`", "docs/guides/cluster.md", id="wrong type"),
        pytest.param("slurm = yes", "is no TOML", "docs/guides/cluster.md", id="no TOML"),
        pytest.param(None, "cannot be read", "docs/guides/cluster.md", id="no file"),
    ],
)
def test_a_wrong_file_is_refused_with_a_remedy(
    text: str | None, told: str, remedy: str, tmp_path: Path
) -> None:
    file = tmp_path / "lab.toml"
    if text is not None:
        file.write_text(f'name = "lab"\n{text}\n', encoding="utf-8")
    parser = argparse.ArgumentParser()
    create.configure(parser)
    with pytest.raises(UsageError, match=told) as refused:
        create.wanted(parser.parse_args(["--file", str(file)]))
    assert remedy in refused.value.remedy


def test_a_file_that_is_not_there_is_not_put_into_a_cluster(tmp_path: Path) -> None:
    parser = argparse.ArgumentParser()
    put.configure(parser)
    with pytest.raises(UsageError, match="there is no file"):
        put.execute(parser.parse_args(["lab", str(tmp_path / "absent")]))


def test_containers_have_no_network_device() -> None:
    with pytest.raises(UsageError, match="have no network device"):
        manager.require(msgspec.structs.replace(LAB, network_device="e1000"))


def test_a_cluster_that_can_be_is_left_as_it_is() -> None:
    assert d.check(LAB) == LAB


@given(st.integers(0, d.MOST_NODES - 1), st.integers(0, d.MOST_NODES - 1))
def test_every_node_has_a_name_an_address_and_a_mac_of_its_own(one: int, other: int) -> None:
    for of in (d.node_name, d.address, d.mac):
        assert (of(one) == of(other)) == (one == other)
    node = d.Node(name=d.node_name(one), address=d.address(one), entry="", cpus=())
    assert d.number_of(node) == one


@given(st.integers(1, d.MOST_NODES), st.integers(1, d.MOST_NODES))
def test_hosts_have_all_nodes_once_and_none_has_two_more_than_another(
    nodes: int, hosts: int
) -> None:
    parts = [d.numbers_of(nodes, hosts, place) for place in range(hosts)]
    assert [number for part in parts for number in part] == list(range(nodes))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_the_host_file_gives_each_node_as_many_ranks_as_it_has_cpus() -> None:
    assert configuration.hostfile(LAB) == "front slots=2\nnode1 slots=2\nnode2 slots=2\n"


def test_every_name_in_the_host_file_has_an_address() -> None:
    known = [line.split()[1] for line in configuration.hosts(LAB).splitlines()]
    assert known == ["localhost", "front", "node1", "node2"]
    assert "10.77.0.3 node2\n" in configuration.hosts(LAB)


@pytest.mark.parametrize(("host_cpus", "yields"), [(6, []), (5, ["mpi_yield_when_idle = 1"])])
def test_ranks_are_told_to_yield_only_where_nodes_share_the_hosts_cpus(
    host_cpus: int, yields: list[str]
) -> None:
    lines = configuration.mpi(LAB.cpus * LAB.nodes, host_cpus).splitlines()
    assert [line for line in lines if line.startswith("mpi_yield_when_idle")] == yields


def test_a_command_keeps_its_words() -> None:
    command = configuration.user_command(["echo", "two words", "$x"], root=False)
    assert command[-3:] == ["echo", "two words", "$x"]
    assert "--reuid=1000" in command
    assert "--reuid=1000" not in configuration.user_command(["id"], root=True)


def test_slurm_knows_every_node_as_large_as_it_was_asked_for() -> None:
    lines = slurm.configuration(LAB).splitlines()
    nodes = [dict(w.split("=") for w in line.split()) for line in lines if "NodeAddr" in line]
    assert [node["NodeName"] for node in nodes] == ["front", "node1", "node2"]
    assert [node["NodeAddr"] for node in nodes] == [d.address(number) for number in range(3)]
    assert {(node["CPUs"], node["RealMemory"]) for node in nodes} == {("2", "1024")}
    assert "SlurmctldHost=front(10.77.0.1)" in lines


@pytest.mark.parametrize(("accounting", "named"), [(True, {"front"}), (False, set())])
def test_jobs_are_sent_to_the_front_end_only_with_accounting(
    accounting: bool, named: set[str]
) -> None:
    asked = msgspec.structs.replace(LAB, slurm=True, accounting=accounting)
    lines = [line.partition("=") for line in slurm.configuration(asked).splitlines()]
    assert {value for key, _, value in lines if key == "AccountingStorageHost"} == named
    assert ("slurmdbd" in manager.packages(asked)) == accounting


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path))


def test_a_name_is_claimed_once_and_the_first_keeps_its_folder() -> None:
    first, second = journal.write("cluster", {}), journal.write("cluster", {})
    with storing.claimed("lab", first) as folder:
        (folder / "kept").touch()
    with pytest.raises(UsageError, match="there is a cluster"), storing.claimed("lab", second):
        pytest.fail("a second cluster took its name")
    storing.remove("lab", second)
    assert (folder / "kept").exists()
    assert sorted(path.name for path in folder.parent.iterdir()) == ["lab"]
    storing.remove("lab", first)
    assert list(folder.parent.iterdir()) == []


def test_a_cluster_that_is_not_whole_yet_is_no_cluster() -> None:
    with storing.claimed("lab", journal.write("cluster", {})):
        assert storing.names() == []
        with pytest.raises(UsageError, match="there is no cluster"):
            storing.read("lab")
