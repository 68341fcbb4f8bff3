"""What a simulation gives back: frozen values, ready for JSON."""

from __future__ import annotations

from typing import Literal

import msgspec

from aferir.clock.topology import Topology

Moment = Literal["set", "all-set", "rated", "held", "held-unrated"]
"""When a node's clock is judged: as it is set by its first look; when the last node is set; as it
has had its second look; some time after the last second look; and then, with the first look
alone, which is the clock of Dutra 2015."""


class Errors(msgspec.Struct, frozen=True, kw_only=True):
    """Absolute errors of clocks against the reference at one moment, in seconds."""

    moment: Moment
    median_s: float
    p99_s: float
    max_s: float
    bound_median_s: float
    """Median of the bounds that the clocks claim for themselves."""
    inside: float
    """Share of clocks whose error is within their own bound."""


class Level(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes that are as many exchanges away from the reference."""

    level: int
    nodes: int
    ready_s: float
    """When the last of them is set."""
    errors: tuple[Errors, ...]


class Simulation(msgspec.Struct, frozen=True, kw_only=True):
    """A whole cluster, synchronised once."""

    topology: Topology
    arity: int | None
    nodes: int
    hold_s: float
    ready_s: float
    """When the last node is set: the time to synchronise."""
    published_ready_s: float
    """The same with 1 ms for every node, as Dutra 2015, 7.3.1, assumes."""
    rated_s: float
    """When the last node has had its second look."""
    node_mean_s: float
    """Time of one node's exchange."""
    messages_mean: float
    messages_max: int
    errors: tuple[Errors, ...]
    """Errors of all nodes."""
    levels: tuple[Level, ...]
    progress: tuple[tuple[float, int], ...]
    """Times and how many nodes are set by then."""
    published_progress: tuple[tuple[float, int], ...]

    def at(self, moment: Moment) -> Errors:
        """The errors of all nodes at a moment."""
        return next(errors for errors in self.errors if errors.moment == moment)
