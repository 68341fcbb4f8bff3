"""The watcher of a cluster, on nodes that die before it waits for them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from aferir.cluster import storing, watch
from aferir.cluster.description import Description, Node, State

NODE = Node(name="front", address="10.0.0.1", entry="gone", cpus=(0,))
STATE = State(
    description=Description(name="lab", nodes=1), entry="e", network="n", image="/i", nodes=(NODE,)
)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path))


def test_a_node_that_has_died_since_it_was_looked_at_is_not_slept_through() -> None:
    """Nothing would wake the watcher: it was not replaced until the cluster changed."""
    watch._sleep_until_one_dies(STATE, (0, 0))


def test_a_cluster_that_has_changed_since_it_was_read_is_read_again() -> None:
    path = storing.state_file("lab")
    path.parent.mkdir(parents=True)
    path.touch()
    watch._sleep_until_one_dies(msgspec.structs.replace(STATE, nodes=()), (0, 0))
