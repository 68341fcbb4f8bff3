"""Topologies: who synchronises with whom, in which order, and when each node is ready.

A synchronised node serves its own children one after another, in order of arrival (Dutra 2015, 6.2
and 7.3.1). One level: the reference serves all. Two levels: those that the reference serves first
have time to serve more (equation 7.1: 1000 + 999 + ... + 1 nodes in 1000 rounds). Tree: every node
serves as long as there are nodes left, so that their number doubles each round (expression 7.2), or
a fixed number of children each.
"""

from __future__ import annotations

import math
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from aferir.clock.delays import Array

Topology = Literal["one-level", "two-level", "tree"]
TOPOLOGIES: tuple[Topology, ...] = ("one-level", "two-level", "tree")
Nodes = NDArray[np.int64]


class Tree(msgspec.Struct, frozen=True):
    """Nodes numbered level by level from the reference, 0; siblings are in order of service."""

    parents: Nodes
    """Parent of each node, shape (nodes + 1,); siblings are adjacent. The reference is its own
    parent.
    """
    levels: tuple[slice, ...]
    """Range of node numbers of each level; the first is the reference alone."""

    @property
    def nodes(self) -> int:
        """Number of nodes to synchronise: all but the reference."""
        return self.parents.size - 1


def build_tree(topology: Topology, nodes: int, arity: int | None = None) -> Tree:
    """Build the tree of `nodes` nodes that are synchronised below a reference node.

    `arity` is the number of children for the topology `tree`; None: the synchronised nodes double
    in each round. Errors: ValueError.
    """
    if nodes < 1:
        raise ValueError("there must be at least one node to synchronise")
    if arity is not None and (topology != "tree" or arity < 2):
        raise ValueError("arity is for a tree, and at least 2")
    if topology == "one-level":
        return Tree(np.zeros(nodes + 1, dtype=np.int64), (slice(0, 1), slice(1, nodes + 1)))
    if topology == "two-level":
        return _two_levels(nodes)
    return _doubling(nodes) if arity is None else _fixed_arity(nodes, arity)


def rounds_of_two_levels(nodes: int) -> int:
    """Smallest r with r + (r - 1) + ... + 1 >= nodes (Dutra 2015, equation 7.1)."""
    rounds = (math.isqrt(8 * nodes + 1) - 1) // 2
    return rounds if rounds * (rounds + 1) // 2 >= nodes else rounds + 1


def ready_times(tree: Tree, durations_s: Array, start_s: float = 0.0) -> Array:
    """Time in s at which each node is synchronised, shape (nodes + 1,).

    `durations_s` has the same shape and contains the duration of each node's exchange with its
    parent. A node begins when its parent is ready and has served all earlier siblings.
    """
    ready = np.full(durations_s.shape, start_s)
    for level in tree.levels[1:]:
        parents = tree.parents[level]
        served = np.cumsum(durations_s[level])
        begins = np.flatnonzero(np.diff(parents, prepend=-1))
        # Durations before a parent's first child belong to other parents.
        before = np.repeat(
            served[begins] - durations_s[level][begins], np.diff(begins, append=parents.size)
        )
        ready[level] = ready[parents] + (served - before)
    return ready


def _two_levels(nodes: int) -> Tree:
    rounds = rounds_of_two_levels(nodes)
    # Child j of the reference (from 0) is ready after round j + 1 and serves in those left.
    children = np.arange(rounds - 1, -1, -1)
    excess = rounds * (rounds + 1) // 2 - nodes
    # With more places than nodes, the last places of the last round stay empty.
    children[:excess] -= 1
    parents = np.repeat(np.arange(1, rounds + 1), children)
    return Tree(
        np.concatenate([np.zeros(rounds + 1, dtype=np.int64), parents]),
        _non_empty((slice(0, 1), slice(1, rounds + 1), slice(rounds + 1, nodes + 1))),
    )


def _fixed_arity(nodes: int, arity: int) -> Tree:
    parents = np.maximum(np.arange(nodes + 1) - 1, 0) // arity
    levels, begin, width = [], 0, 1
    while begin <= nodes:
        end = min(begin + width, nodes + 1)
        levels.append(slice(begin, end))
        begin, width = end, width * arity
    return Tree(parents, tuple(levels))


def _doubling(nodes: int) -> Tree:
    """Binomial tree: in round r node i < 2^r synchronises node i + 2^r, if it exists."""
    plain = np.arange(nodes + 1)
    highest = np.zeros_like(plain)
    for power in range(nodes.bit_length()):
        highest[1 << power :] = 1 << power
    parents = plain - highest
    depth = np.bitwise_count(plain).astype(np.int64)
    order = np.lexsort((parents, depth))
    number = np.empty_like(order)
    number[order] = plain
    ends = np.cumsum(np.bincount(depth))
    begins = np.concatenate([[0], ends[:-1]])
    levels = tuple(slice(int(b), int(e)) for b, e in zip(begins, ends, strict=True))
    return Tree(number[parents[order]], levels)


def _non_empty(levels: tuple[slice, ...]) -> tuple[slice, ...]:
    return tuple(level for level in levels if level.stop > level.start)
