from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aferir.clock.delays import Array
from aferir.clock.topology import (
    TOPOLOGIES,
    Topology,
    Tree,
    build_tree,
    ready_times,
    rounds_of_two_levels,
)

layouts = st.one_of(
    st.tuples(st.sampled_from(TOPOLOGIES), st.none()),
    st.tuples(st.just("tree"), st.integers(2, 9)),
)


def rounds(tree: Tree) -> Array:
    """When each node is ready if every exchange takes one round."""
    durations = np.ones(tree.nodes + 1)
    durations[0] = 0
    return ready_times(tree, durations)


@settings(deadline=None)
@given(layouts, st.integers(1, 700))
def test_every_node_has_one_place(layout: tuple[Topology, int | None], nodes: int) -> None:
    tree = build_tree(layout[0], nodes, layout[1])
    assert tree.nodes == nodes
    covered = np.concatenate([np.arange(level.start, level.stop) for level in tree.levels])
    assert np.array_equal(covered, np.arange(nodes + 1))
    for above, level in zip(tree.levels, tree.levels[1:], strict=False):
        parents = tree.parents[level]
        assert parents.min() >= above.start
        assert parents.max() < above.stop
        runs = 1 + np.count_nonzero(np.diff(parents))
        assert runs == np.unique(parents).size, "siblings stand together"


@settings(deadline=None, max_examples=50)
@given(layouts, st.integers(1, 300), st.integers(0, 10**6))
def test_a_parent_serves_one_child_at_a_time(
    layout: tuple[Topology, int | None], nodes: int, seed: int
) -> None:
    tree = build_tree(layout[0], nodes, layout[1])
    durations = np.random.default_rng(seed).uniform(0.5, 1.5, nodes + 1)
    ready = ready_times(tree, durations, 7.0)
    free = np.full(nodes + 1, 7.0)
    for node in range(1, nodes + 1):
        parent = tree.parents[node]
        free[parent] += durations[node]
        free[node] = free[parent]
        assert ready[node] == pytest.approx(free[node])


def test_one_level_takes_a_round_for_each_node() -> None:
    assert rounds(build_tree("one-level", 1000)).max() == 1000


@pytest.mark.parametrize("count", [1, 2, 3, 10, 1000])
def test_two_levels_synchronise_the_published_sum(count: int) -> None:
    """Dutra 2015, equation 7.1: 1000 + 999 + ... + 1 = 500,500 nodes in 1000 rounds."""
    nodes = count * (count + 1) // 2
    assert rounds_of_two_levels(nodes) == count
    assert rounds_of_two_levels(nodes + 1) == count + 1
    tree = build_tree("two-level", nodes)
    assert rounds(tree).max() == count
    assert len(tree.levels) == (3 if count > 1 else 2)


@given(st.integers(1, 20_000))
def test_two_levels_are_as_quick_as_two_levels_can_be(nodes: int) -> None:
    tree = build_tree("two-level", nodes)
    assert rounds(tree).max() == rounds_of_two_levels(nodes)


@given(st.integers(1, 5000))
def test_a_tree_doubles_each_round(nodes: int) -> None:
    """Dutra 2015, expression 7.2: 1, 2, 4, ... synchronised clocks, the reference among them."""
    ready = rounds(build_tree("tree", nodes))
    assert ready.max() == math.ceil(math.log2(nodes + 1))
    for number in range(int(ready.max())):
        assert np.count_nonzero(ready <= number) == 2**number


def test_a_doubling_tree_is_as_deep_as_it_has_rounds() -> None:
    tree = build_tree("tree", 2**10 - 1)
    sizes = [level.stop - level.start for level in tree.levels]
    assert sizes == [math.comb(10, depth) for depth in range(11)]


def test_a_tree_of_fixed_arity_fills_level_by_level() -> None:
    tree = build_tree("tree", 14, 3)
    assert [level.stop - level.start for level in tree.levels] == [1, 3, 9, 2]
    # The last of level 1 is ready after 3 rounds, its last child after 3 more.
    assert rounds(tree)[tree.levels[2]].max() == 6


@pytest.mark.parametrize(
    ("topology", "nodes", "arity"),
    [("tree", 0, None), ("tree", 5, 1), ("one-level", 5, 2), ("two-level", 5, 2)],
)
def test_what_is_no_cluster_is_refused(topology: Topology, nodes: int, arity: int | None) -> None:
    with pytest.raises(ValueError, match=r"at least"):
        build_tree(topology, nodes, arity)
