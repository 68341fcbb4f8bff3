"""CPUs for nodes, on described hosts of many shapes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.cluster.description import Placement
from aferir.cluster.placing import advise, first_like, place
from aferir.machine import processors
from aferir.machine.processors import Processor

WAYS: tuple[Placement, ...] = ("spread", "packed", "reserve", "free")


def host(memories: int = 1, cores: int = 2, threads: int = 1) -> list[Processor]:
    """Numbered as Linux does: first threads of all cores, then second ones."""
    every = memories * cores
    return [
        Processor(number=thread * every + core, core=core, memory=core // cores)
        for thread in range(threads)
        for core in range(every)
    ]


@given(
    st.sampled_from(WAYS),
    st.integers(1, 20),
    st.integers(1, 9),
    st.builds(host, st.integers(1, 3), st.integers(1, 4), st.integers(1, 2)),
)
def test_every_node_gets_cpus_of_the_host_and_none_twice(
    how: Placement, nodes: int, cpus: int, machine: list[Processor]
) -> None:
    chosen = place(how, nodes, cpus, machine)
    assert len(chosen) == nodes
    assert {cpu for one in chosen for cpu in one} <= {p.number for p in machine}
    assert all(len(set(one)) == len(one) >= 1 for one in chosen)


@given(st.integers(1, 40), st.integers(1, 4), st.integers(1, 9))
def test_one_cpu_is_not_used_twice_before_all_are_used_once(
    nodes: int, cpus: int, cores: int
) -> None:
    chosen = place("spread", nodes, cpus, host(cores=cores))
    uses = [sum(cpu in one for one in chosen) for cpu in range(cores)]
    assert max(uses) - min(uses) <= 1
    assert all(len(one) == min(cpus, cores) for one in chosen)


def test_cores_come_before_their_second_threads() -> None:
    machine = host(cores=2, threads=2)
    assert place("spread", 2, 1, machine) == [(0,), (1,)]
    assert place("packed", 2, 1, machine) == [(0,), (2,)]
    assert first_like("packed", 2, 1, machine) == "packed"


def test_packed_is_spread_on_a_host_without_second_threads() -> None:
    assert first_like("packed", 3, 1, host(cores=2)) == "spread"
    assert first_like("free", 3, 1, host(cores=2)) == "free"
    assert first_like("free", 3, 1, host(cores=1)) == "spread"


def test_a_node_stays_near_its_memory_and_nodes_are_far_apart() -> None:
    machine = host(memories=2, cores=4)
    assert place("spread", 2, 2, machine) == [(0, 1), (4, 5)]
    assert place("packed", 2, 2, machine) == [(0, 1), (2, 3)]
    assert place("spread", 1, 6, machine) == [(0, 1, 2, 3, 4, 5)]


def test_reserve_leaves_the_first_core_with_all_its_threads_to_the_host() -> None:
    assert place("reserve", 2, 1, host(cores=3, threads=2)) == [(1,), (2,)]
    assert place("reserve", 2, 1, host(cores=1, threads=2)) == [(0,), (1,)]


@pytest.mark.parametrize(
    ("nodes", "cores", "how"),
    [(2, 4, "reserve"), (4, 4, "spread"), (8, 4, "spread"), (6, 4, "free"), (3, 2, "free")],
)
def test_advice_leaves_a_core_where_it_can_and_frees_nodes_where_binding_is_uneven(
    nodes: int, cores: int, how: Placement
) -> None:
    advice = advise(nodes, 1, host(cores=cores))
    assert advice.placement == how
    assert advice.cpus == tuple(place(how, nodes, 1, host(cores=cores)))
    assert str(cores) in advice.reason


def test_what_the_kernel_does_not_tell_is_a_core_of_its_own(tmp_path: Path) -> None:
    told = tmp_path / "cpu3"
    (told / "topology").mkdir(parents=True)
    (told / "node1").mkdir()
    (told / "topology/core_id").write_text("7\n")
    (told / "topology/physical_package_id").write_text("1\n")
    assert processors.read([3, 4], tmp_path) == (
        Processor(number=3, core=7, package=1, memory=1),
        Processor(number=4, core=4),
    )


def test_threads_that_share_a_core_are_of_one_though_its_number_comes_again(tmp_path: Path) -> None:
    """Two dies of one package, all of whose cores are called 0."""
    for number, threads in enumerate(("0,2", "1,3", "0,2", "1,3", "4")):
        topology = tmp_path / f"cpu{number}/topology"
        topology.mkdir(parents=True)
        (topology / "core_id").write_text("0\n")
        (topology / "physical_package_id").write_text("0\n")
        (topology / "thread_siblings_list").write_text(f"{threads}\n")
    assert [one.core for one in processors.read(range(5), tmp_path)] == [0, 1, 0, 1, 4]
