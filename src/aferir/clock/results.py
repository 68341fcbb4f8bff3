"""Results of a simulation: frozen values, ready for JSON."""

from __future__ import annotations

from typing import Literal

import msgspec

from aferir.clock.topology import Topology

Moment = Literal["set", "all-set", "rated", "held", "held-unrated"]
"""Time at which a node's clock is judged. `set`: after its first exchange; `all-set`: after the
first exchange of all nodes; `rated`: after its second exchange; `held`: some time after the second
exchange of all nodes; `held-unrated`: at the same time as `held`, but with the first exchange only,
which is the clock of Dutra 2015.
"""


class Errors(msgspec.Struct, frozen=True, kw_only=True):
    """Absolute errors of clocks against the reference at one time, in s."""

    moment: Moment
    median_s: float
    p99_s: float
    max_s: float
    bound_median_s: float
    """Median of the bounds that the clocks claim for themselves, in s."""
    inside: float
    """Share of clocks whose error is within their own bound."""


class Level(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes at the same distance from the reference, in exchanges."""

    level: int
    nodes: int
    ready_s: float
    """Time in s at which the last node of the level is synchronised."""
    errors: tuple[Errors, ...]


class Simulation(msgspec.Struct, frozen=True, kw_only=True):
    """A whole cluster, synchronised once."""

    topology: Topology
    arity: int | None
    nodes: int
    hold_s: float
    ready_s: float
    """Time in s at which the last node is synchronised."""
    published_ready_s: float
    """`ready_s` if every node took 1 ms, as Dutra 2015, 7.3.1, assumes."""
    rated_s: float
    """Time in s at which the last node has completed its second exchange."""
    node_mean_s: float
    """Mean duration of one node's exchange, in s."""
    messages_mean: float
    messages_max: int
    errors: tuple[Errors, ...]
    """Errors of all nodes at each moment."""
    levels: tuple[Level, ...]
    progress: tuple[tuple[float, int], ...]
    """Times in s, with the number of nodes synchronised by then."""
    published_progress: tuple[tuple[float, int], ...]

    def at(self, moment: Moment) -> Errors:
        """Return the errors of all nodes at one moment."""
        return next(errors for errors in self.errors if errors.moment == moment)
