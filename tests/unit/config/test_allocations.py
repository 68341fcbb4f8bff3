"""Hosts that are allocated for the run, as experiment files name them."""

from __future__ import annotations

from aferir.config.allocations import with_allocations
from aferir.config.problems import Problems
from aferir.model.host import KubernetesKeys, Price, SlurmKeys


def test_nodes_are_hosts_with_names_of_their_own() -> None:
    problems = Problems()
    document, hosts = with_allocations(
        {
            "slurm": {
                "by": "ssh login",
                "options": "--time=5 --partition=a",
                "sudo": True,
                "power": "rapl",
                "price_per_hour": "0.5 EUR",
            },
            "environment": [{"name": "n", "host": ["slurm:2"]}, {"name": "m"}],
            "factors": {"environment.host": ["slurm:1", "there"]},
        },
        problems,
    )
    assert not problems.found
    assert document["environment"] == [{"name": "n", "host": "slurm2-1,slurm2-2"}, {"name": "m"}]
    assert document["factors"] == {"environment.host": ["slurm1-1", "there"]}
    assert [(one.name, one.number) for one in hosts] == [
        ("slurm2-1", 1),
        ("slurm2-2", 2),
        ("slurm1-1", 1),
    ]
    keys = SlurmKeys(by=("ssh", "login"), options=("--time=5", "--partition=a"))
    assert {one.allocated.keys for one in hosts if one.allocated} == {keys}
    assert {(one.sudo, one.power, one.price_per_hour) for one in hosts} == {
        (True, "rapl", Price(0.5, "EUR"))
    }


def test_pods_have_their_own_section_and_other_names_stay() -> None:
    problems = Problems()
    document, hosts = with_allocations(
        {
            "kubernetes": {"namespace": "lab"},
            "environment": [{"host": "kubernetes:1"}, {"host": "slurm:0"}, {"host": "slurm"}],
        },
        problems,
    )
    assert not problems.found
    assert document["environment"] == [
        {"host": "kubernetes1-1"},
        {"host": "slurm:0"},
        {"host": "slurm"},
    ]
    (pod,) = hosts
    assert pod.allocated is not None
    assert pod.allocated.keys == KubernetesKeys(namespace="lab", image="python:3.11")


def test_a_section_that_is_wrong_is_told() -> None:
    problems = Problems()
    with_allocations({"slurm": 3, "kubernetes": {"namespace": "No Such"}}, problems)
    assert len(problems.found) == 2
