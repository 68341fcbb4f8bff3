"""Simulates a few nodes in detail: readings of two clocks, estimates from them, many checks.

Unlike `simulate`, which propagates errors, this takes time stamps as a client would and passes them
to `estimate`, so that it shows whether a clock stays inside its own bound.
"""

from __future__ import annotations

import msgspec
import numpy as np

from aferir.clock.delays import Array, Network, Single, draw_asymmetries
from aferir.clock.estimate import (
    Line,
    Look,
    error_bound,
    first_line,
    global_time,
    offset_of_directions,
    offset_of_trip,
    path_excess,
    second_line,
)
from aferir.clock.exchange import Index, StopRule, exchange
from aferir.clock.looks import Filter, jitter_source, time_taken
from aferir.clock.oscillator import Oscillators, phases, wander

STEP_S = 60.0
"""Step in s between two draws of the wander, between which the rate is linear."""


class Following(msgspec.Struct, frozen=True, kw_only=True):
    """Settings; the defaults are a day on gigabit Ethernet."""

    rates: tuple[float, ...]
    """Nominal rate of each node."""
    network: Network = Network()
    oscillators: Oscillators = Oscillators()
    rule: StopRule = StopRule()
    keep: Filter = "round-trip"
    rate_limit: float = 200e-6
    interval_s: float = 10.0
    """Time in s between the two exchanges."""
    duration_s: float = 86_400.0
    checks: int = 10_000
    server_offset_s: float = 0.0
    """Reading of the server's clock at the beginning, in s."""


class Followed(msgspec.Struct, frozen=True, kw_only=True):
    """Errors of global time with the bounds that the clocks claim; shape (checks, nodes)."""

    times_s: Array
    """True time of each check in s, shape (checks,)."""
    error_s: Array
    """Error in s of the clock after two exchanges, or after one in checks before the second."""
    bound_s: Array
    first: Line
    second: Line

    @property
    def inside(self) -> float:
        """Share of checks in which the error was within the bound."""
        return float(np.mean(np.abs(self.error_s) <= self.bound_s))


class _ClientClocks(msgspec.Struct, frozen=True):
    """Clocks of all clients, which read `offset + t + phase(t)` at true time t."""

    offsets_s: Array
    rates: Array
    """Rates at intervals of `STEP_S`, shape (steps + 1, nodes)."""
    phases_s: Array

    def read(self, true_s: Array) -> Array:
        """Readings at true times of shape (nodes,) or (times, nodes), in s."""
        nodes = np.arange(self.offsets_s.size)
        step = np.clip((true_s // STEP_S).astype(np.int64), 0, self.rates.shape[0] - 2)
        inside = true_s - step * STEP_S
        rate = self.rates[step, nodes]
        slope = (self.rates[step + 1, nodes] - rate) / STEP_S
        phase = self.phases_s[step, nodes] + rate * inside + slope * inside**2 / 2
        readings: Array = self.offsets_s + true_s + phase
        return readings


def follow(following: Following, rng: np.random.Generator) -> Followed:
    """Two exchanges of each node, then checks at random times; reproducible by the generator."""
    nodes = len(following.rates)
    clocks = _draw_clocks(following, rng)
    asymmetries = draw_asymmetries(rng, following.network, nodes)
    start = np.zeros(nodes)
    stamps = [
        _take(following, rng, clocks, asymmetries, start + begin)
        for begin in (0.0, following.interval_s)
    ]
    looks = _looks_of(stamps)
    first = first_line(looks[0], rate_limit=following.rate_limit)
    second = second_line(*looks, wander=following.oscillators.wander)
    begin = float(stamps[0].done_s.max())
    times = np.sort(rng.uniform(begin, following.duration_s, following.checks))
    local = clocks.read(np.broadcast_to(times[:, None], (following.checks, nodes)))
    rated = times[:, None] >= stamps[1].done_s
    truth = following.server_offset_s + times[:, None]
    return Followed(
        times_s=times,
        error_s=np.where(rated, global_time(second, local), global_time(first, local)) - truth,
        bound_s=np.where(rated, error_bound(second, local), error_bound(first, local)),
        first=first,
        second=second,
    )


def _draw_clocks(following: Following, rng: np.random.Generator) -> _ClientClocks:
    nodes = len(following.rates)
    count = int(np.ceil(following.duration_s / STEP_S)) + 1
    steps = np.full(count, STEP_S)
    wandering = np.array(list(wander(rng, following.oscillators, nodes, steps.tolist())))
    rates = wandering + np.array(following.rates)
    return _ClientClocks(rng.uniform(0, 1e4, nodes), rates, phases(rates, steps))


class _Stamps(msgspec.Struct, frozen=True, kw_only=True):
    local_s: Array
    offset_s: Array
    bound_s: Array
    gap_s: Array
    least_s: Array
    """`gap_s` and `least_s` exclude the clocks' drift within an exchange, at most about 0.2 us."""
    deviation_s: Array
    done_s: Array
    """True time in s at the end of the exchange."""


def _take(
    following: Following,
    rng: np.random.Generator,
    clocks: _ClientClocks,
    asymmetries_s: Array,
    start_s: Array,
) -> _Stamps:
    """Let every node exchange messages once, and read its clock as a client would."""

    def draw(nodes: Index, count: int) -> tuple[Single, Single]:
        forward, back = jitter_source(rng, following.network, nodes, count)
        return forward, back

    found = exchange(draw, start_s.size, following.rule)
    duration = time_taken(rng, following.network, following.rule, found)
    interval = duration / found.messages
    forward = following.network.floor_s + asymmetries_s
    back = following.network.floor_s - asymmetries_s

    def sent(place: Index) -> Array:
        return start_s + (following.rule.discard + place) * interval

    least = 2 * following.network.floor_s + found.least_forward_s + found.least_back_s
    gap = np.zeros_like(least)
    if following.keep == "round-trip":
        gap = 2 * following.network.floor_s + found.forward_s + found.back_s - least
        local, offset, bound = _by_trip(
            clocks,
            following.server_offset_s,
            sent_s=sent(found.place),
            forward_s=forward + found.forward_s,
            back_s=back + found.back_s,
        )
    else:
        local, offset, bound = _by_directions(
            clocks,
            following.server_offset_s,
            out_s=sent(found.forward_place),
            home_s=sent(found.back_place),
            forward_s=forward + found.least_forward_s,
            back_s=back + found.least_back_s,
            rate_limit=following.rate_limit,
        )
    return _Stamps(
        local_s=local,
        offset_s=offset,
        bound_s=bound,
        gap_s=gap,
        least_s=least,
        deviation_s=found.deviation_s,
        done_s=start_s + duration,
    )


def _by_trip(
    clocks: _ClientClocks,
    server_offset_s: float,
    *,
    sent_s: Array,
    forward_s: Array,
    back_s: Array,
) -> tuple[Array, Array, Array]:
    arrived = sent_s + forward_s
    pre, post = clocks.read(sent_s), clocks.read(arrived + back_s)
    offset, bound = offset_of_trip(pre, server_offset_s + arrived, post)
    return pre + (post - pre) / 2, offset, bound


def _by_directions(
    clocks: _ClientClocks,
    server_offset_s: float,
    *,
    out_s: Array,
    home_s: Array,
    forward_s: Array,
    back_s: Array,
    rate_limit: float,
) -> tuple[Array, Array, Array]:
    """Estimate from the smallest delays: of a request sent at `out_s`, an answer at `home_s`."""
    answered = home_s + forward_s
    pre, post = clocks.read(out_s), clocks.read(answered + back_s)
    offset, bound = offset_of_directions(
        server_offset_s + out_s + forward_s - pre,
        post - (server_offset_s + answered),
        span_s=np.abs(post - pre),
        rate_limit=rate_limit,
    )
    return pre + (post - pre) / 2, offset, bound


def _looks_of(stamps: list[_Stamps]) -> tuple[Look, Look]:
    first, second = (
        Look(
            local_s=own.local_s,
            offset_s=own.offset_s,
            bound_s=own.bound_s,
            excess_s=path_excess(own.deviation_s, own.gap_s, own.least_s, other.least_s),
        )
        for own, other in (stamps, stamps[::-1])
    )
    return first, second
