"""Exchanges of a million nodes, in chunks: errors of offsets instead of readings of clocks.

Every node's clock starts at a different time, and the error of an estimate depends on delays and
rates alone. So errors are computed directly; `follow` computes readings and estimates for a few
nodes, and a test compares the two.
"""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np

from aferir.clock.delays import Array, Network, Single, draw_jitter, draw_losses
from aferir.clock.estimate import offset_of_directions
from aferir.clock.exchange import Exchange, Index, StopRule, exchange

CHUNK = 1 << 15
"""Number of nodes whose delays are in memory at a time: about 3 MB for each direction."""

Filter = Literal["round-trip", "directions"]
"""Delays from which the offset is computed: both of the shortest round trip (Dutra 2015), or the
shortest of each direction.
"""


class Looks(msgspec.Struct, frozen=True, kw_only=True):
    """One exchange of every node; all arrays have shape (nodes,)."""

    error_s: Array
    """Error of the offset in s, estimate minus truth, against the parent's clock."""
    bound_s: Array
    deviation_s: Array
    """Standard deviation of the smallest round trips, in s."""
    gap_s: Array
    """Duration of the used exchange beyond the smallest delays, in s."""
    least_s: Array
    """Sum of both directions' smallest delays, in s."""
    duration_s: Array
    age_s: Array
    """Time in s from the used exchange to the end of the last one."""
    messages: Index


def draw_looks(
    rng: np.random.Generator,
    network: Network,
    rule: StopRule,
    *,
    asymmetries_s: Array,
    rates: Array,
    keep: Filter,
    rate_limit: float,
) -> Looks:
    """Draw one exchange of every node; no node waits for a busy server."""
    parts = [
        _looks(
            rng,
            network,
            rule,
            asymmetries_s=asymmetries_s[begin : begin + CHUNK],
            rates=rates[begin : begin + CHUNK],
            keep=keep,
            rate_limit=rate_limit,
        )
        for begin in range(0, asymmetries_s.size, CHUNK)
    ]
    names = Looks.__struct_fields__
    return Looks(**{name: np.concatenate([getattr(p, name) for p in parts]) for name in names})


def jitter_source(rng: np.random.Generator, network: Network, nodes: Index, count: int) -> Single:
    """Delays above the floor for both directions, shape (2, count, nodes)."""
    return draw_jitter(rng, network, (2 * count, nodes.size)).reshape(2, count, nodes.size)


def time_taken(
    rng: np.random.Generator, network: Network, rule: StopRule, found: Exchange
) -> Array:
    """Duration in s of each node's exchange, including losses and the slow start of cold caches."""
    cold = network.cold_s * (2 - 2.0 ** (1 - rule.discard)) if rule.discard else 0.0
    answered = found.messages * (2 * network.floor_s + rule.gap_s) + found.sum_s
    lost = draw_losses(rng, network, found.messages) * (network.timeout_s + rule.gap_s)
    return answered + lost + cold


def _looks(
    rng: np.random.Generator,
    network: Network,
    rule: StopRule,
    *,
    asymmetries_s: Array,
    rates: Array,
    keep: Filter,
    rate_limit: float,
) -> Looks:
    def draw(nodes: Index, count: int) -> tuple[Single, Single]:
        forward, back = jitter_source(rng, network, nodes, count)
        return forward, back

    found = exchange(draw, asymmetries_s.size, rule)
    duration = time_taken(rng, network, rule, found)
    forward = network.floor_s + asymmetries_s
    back = network.floor_s - asymmetries_s
    interval = duration / found.messages
    last = found.messages - rule.discard - 1
    least = 2 * network.floor_s + found.least_forward_s + found.least_back_s
    if keep == "round-trip":
        error, bound = _of_trip(forward + found.forward_s, back + found.back_s)
        kept = found.place.astype(np.float64)
        gap = 2 * bound - least
    else:
        apart = (found.forward_place - found.back_place) * interval
        # The clocks drift between the two exchanges: both readings are corrected to the middle.
        drift = rates * apart / 2
        error, bound = offset_of_directions(
            forward + found.least_forward_s - drift,
            back + found.least_back_s - drift,
            span_s=np.abs(apart),
            rate_limit=rate_limit,
        )
        kept = (found.forward_place + found.back_place) / 2
        gap = np.zeros_like(least)
    return Looks(
        error_s=error,
        bound_s=bound,
        deviation_s=found.deviation_s,
        gap_s=gap,
        least_s=least,
        duration_s=duration,
        age_s=(last - kept) * interval,
        messages=found.messages,
    )


def _of_trip(forward_s: Array, back_s: Array) -> tuple[Array, Array]:
    """Error and bound of an offset in s, from the delays of the used exchange."""
    return (forward_s - back_s) / 2, (forward_s + back_s) / 2
