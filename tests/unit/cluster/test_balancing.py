"""Which host a cluster goes to, by the processors that clusters ask for."""

from __future__ import annotations

from aferir.cluster.balancing import Room, better, processors_of
from aferir.cluster.description import Description


def test_a_cluster_goes_where_its_processors_are_shared_with_least() -> None:
    here = Room(processors=8, asked=12)  # with its own four
    crowded, same, roomy, large = Room(4, 4), Room(8, 8), Room(8, 3), Room(64, 30)
    assert better(here, 4, [crowded, same, roomy, large]) == [3, 2]
    assert better(here, 4, []) == []


def test_a_cluster_stays_that_would_ask_for_as_much_elsewhere() -> None:
    """It would go back and forth otherwise."""
    assert better(Room(8, 4), 4, [Room(8, 0)]) == []
    assert better(Room(8, 4), 4, [Room(9, 0)]) == [0]


def test_processors_of_a_cluster_are_those_of_all_its_nodes() -> None:
    assert processors_of(Description(name="lab", nodes=3, cpus=2)) == 6
