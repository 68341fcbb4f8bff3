"""Simulates the synchronisation of a whole cluster: its duration, and the clocks' errors.

Dutra 2015, figure 7.13, gives the time for three topologies when every node takes 1 ms; here every
node runs its exchange, and errors propagate down the tree. There are three phases: every node
synchronises with its parent once; a second exchange at least `interval_s` later gives its rate;
then the clocks run freely for `hold_s`.

A child measures the rate against its parent's oscillator, not against its parent's estimate of
global time, which had no rate yet at the child's first exchange; the parent passes its own rate on.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np
from numpy.typing import NDArray

from aferir.clock.delays import Array, Network, draw_asymmetries
from aferir.clock.estimate import path_excess
from aferir.clock.exchange import StopRule
from aferir.clock.looks import CHUNK, Filter, Looks, draw_looks
from aferir.clock.oscillator import Oscillators, draw_rates, wander
from aferir.clock.results import Errors, Level, Moment, Simulation
from aferir.clock.topology import Topology, Tree, build_tree, ready_times

PUBLISHED_NODE_S = 1e-3
"""Duration in s of one node's synchronisation in Dutra 2015, 7.3.1."""
HOLD_STEPS = 24
"""Number of times at which the wander is drawn while the clocks run freely."""
PROGRESS_POINTS = 128


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings; the defaults are the gigabit Ethernet of Dutra 2015, and a free run of one day."""

    nodes: int
    topology: Topology = "tree"
    arity: int | None = None
    """Children of each node of a tree; None doubles the synchronised nodes each round."""
    network: Network = Network()
    oscillators: Oscillators = Oscillators()
    rule: StopRule = StopRule()
    keep: Filter = "round-trip"
    rate_limit: float = 200e-6
    """Largest rate between two clocks before any measurement: two crystals of 100 ppm each."""
    interval_s: float = 10.0
    """Time in s between the starts of the two phases of exchanges; longer if the first takes
    longer.
    """
    hold_s: float = 86_400.0


class _Clocks(msgspec.Struct, frozen=True):
    """Errors and claimed bounds of each node's global time at `at_s`; shape (nodes + 1,)."""

    at_s: Array
    error_s: Array
    bound_s: Array
    rate_error: Array
    rate_bound: Array

    def later(self, elapsed_s: Array, wandered_s: Array | float = 0.0) -> tuple[Array, Array]:
        """Error and bound `elapsed_s` later; `wandered_s` is the phase added by the wander."""
        error = self.error_s + self.rate_error * elapsed_s + wandered_s
        return error, self.bound_s + self.rate_bound * elapsed_s


class _Wanders(msgspec.Struct, frozen=True):
    """Wander of each clock's rate against the reference; arrays have shape (nodes + 1,).

    `mean` is the mean rate between the two exchanges, `second` the rate at the second one.
    """

    mean: Array
    second: Array
    held_s: Array
    """Phase in s gained while the clocks run freely."""


def simulate(settings: Settings, rng: np.random.Generator) -> Simulation:
    """Synchronise the cluster; the same generator state gives the same result."""
    tree = build_tree(settings.topology, settings.nodes, settings.arity)
    asymmetries = draw_asymmetries(rng, settings.network, settings.nodes)
    nominal = _with_reference(draw_rates(rng, settings.oscillators, settings.nodes))
    first, second = (_draw(settings, rng, asymmetries, nominal[1:]) for _ in range(2))
    ready = ready_times(tree, _with_reference(first.duration_s))
    begins = max(settings.interval_s, float(ready.max()))
    rated = ready_times(tree, _with_reference(second.duration_s), begins)
    wanders = _draw_wanders(settings, rng, begins)
    rates = nominal + wanders.mean
    once = _first_clocks(tree, first, ready, rates, settings.rate_limit)
    twice = _second_clocks(tree, (first, second), (once.at_s, rated), wanders, settings.oscillators)
    judged: dict[Moment, tuple[Array, Array]] = {
        "set": once.later(ready - once.at_s),
        "all-set": once.later(ready.max() - once.at_s),
        "rated": twice.later(rated - twice.at_s),
        "held": _held(twice, float(rated.max()), settings.hold_s, wanders),
        "held-unrated": _held_unrated(once, float(rated.max()), settings.hold_s, wanders),
    }
    return _result(settings, tree, first, ready_s=ready, rated_s=rated, judged=judged)


def _result(
    settings: Settings,
    tree: Tree,
    first: Looks,
    *,
    ready_s: Array,
    rated_s: Array,
    judged: dict[Moment, tuple[Array, Array]],
) -> Simulation:
    published = ready_times(tree, _with_reference(np.full(tree.nodes, PUBLISHED_NODE_S)))
    levels = [
        Level(
            level=number,
            nodes=level.stop - level.start,
            ready_s=float(ready_s[level].max()),
            errors=_errors(judged, level),
        )
        for number, level in enumerate(tree.levels)
        if number
    ]
    return Simulation(
        topology=settings.topology,
        arity=settings.arity,
        nodes=settings.nodes,
        hold_s=settings.hold_s,
        ready_s=float(ready_s.max()),
        published_ready_s=float(published.max()),
        rated_s=float(rated_s.max()),
        node_mean_s=float(first.duration_s.mean()),
        messages_mean=float(first.messages.mean()),
        messages_max=int(first.messages.max()),
        errors=_errors(judged, slice(1, None)),
        levels=tuple(levels),
        progress=_progress(ready_s[1:]),
        published_progress=_progress(published[1:]),
    )


def _draw(
    settings: Settings, rng: np.random.Generator, asymmetries_s: Array, rates: Array
) -> Looks:
    return draw_looks(
        rng,
        settings.network,
        settings.rule,
        asymmetries_s=asymmetries_s,
        rates=rates,
        keep=settings.keep,
        rate_limit=settings.rate_limit,
    )


def _with_reference(values: NDArray[np.float64]) -> Array:
    """Prepend a 0 for node 0, the reference, which takes no time and has no error."""
    return np.concatenate([[0.0], values])


def _draw_wanders(settings: Settings, rng: np.random.Generator, between_s: float) -> _Wanders:
    """Wander of all nodes, drawn in chunks; short waits within a phase are neglected."""
    steps = [between_s, *[settings.hold_s / HOLD_STEPS] * HOLD_STEPS]
    parts: list[tuple[Array, Array, Array]] = []
    for begin in range(0, settings.nodes, CHUNK):
        count = min(CHUNK, settings.nodes - begin)
        parts.append(_summed(wander(rng, settings.oscillators, count, steps), steps[1:]))
    mean, second, held = (_with_reference(np.concatenate(v)) for v in zip(*parts, strict=True))
    return _Wanders(mean, second, held)


def _summed(values: Iterator[Array], steps_s: list[float]) -> tuple[Array, Array, Array]:
    start, second = next(values), next(values)
    held, before = np.zeros_like(second), second
    for step, value in zip(steps_s, values, strict=True):
        held += 0.5 * step * (before + value)
        before = value
    return 0.5 * (start + second), second, held


def _first_clocks(
    tree: Tree, looks: Looks, ready_s: Array, rates: Array, rate_limit: float
) -> _Clocks:
    """Clocks after one exchange: a parent's clock has drifted while it served earlier children."""
    at = ready_s - _with_reference(looks.age_s)
    error, bound = _with_reference(looks.error_s), _with_reference(looks.bound_s)
    limits = np.full_like(rates, rate_limit)
    limits[0] = 0
    for level in tree.levels[1:]:
        parents = tree.parents[level]
        waited = at[level] - at[parents]
        error[level] += error[parents] + rates[parents] * waited
        bound[level] += bound[parents] + limits[parents] * waited
    return _Clocks(at, error, bound, rates, limits)


def _second_clocks(
    tree: Tree,
    looks: tuple[Looks, Looks],
    times_s: tuple[Array, Array],
    wanders: _Wanders,
    oscillators: Oscillators,
) -> _Clocks:
    """Clocks after two exchanges: the parent's rate is added to the rate measured against it.

    `times_s` are the times of the first exchange and of the end of the second.
    """
    first, second = looks
    at = times_s[1] - _with_reference(second.age_s)
    elapsed = at - times_s[0]
    error, bound = _with_reference(second.error_s), _with_reference(second.bound_s)
    excess = path_excess(first.deviation_s, first.gap_s, first.least_s, second.least_s)
    excess += path_excess(second.deviation_s, second.gap_s, second.least_s, first.least_s)
    rate_error, rate_bound = np.zeros_like(at), np.zeros_like(at)
    rate_error[1:] = (second.error_s - first.error_s) / elapsed[1:]
    rate_bound[1:] = excess / elapsed[1:]
    drift = wanders.second - wanders.mean
    leaves = np.full_like(at, 2 * oscillators.wander)
    leaves[0] = 0
    for level in tree.levels[1:]:
        parents = tree.parents[level]
        waited = at[level] - at[parents]
        error[level] += error[parents] + (rate_error[parents] + drift[parents]) * waited
        bound[level] += bound[parents] + (rate_bound[parents] + leaves[parents]) * waited
        rate_error[level] += rate_error[parents]
        # A parent's mean rate differs a little between its own interval and its child's.
        shifted = np.maximum(waited, times_s[0][level] - times_s[0][parents]) / elapsed[level]
        rate_bound[level] += rate_bound[parents] + leaves[parents] * np.minimum(shifted, 1)
    return _Clocks(at, error, bound, rate_error + drift, rate_bound + leaves)


def _held(clocks: _Clocks, until_s: float, hold_s: float, wanders: _Wanders) -> tuple[Array, Array]:
    """Return errors and bounds after `hold_s` without synchronisation since `until_s`."""
    wandered = wanders.held_s - wanders.second * hold_s
    return clocks.later(until_s + hold_s - clocks.at_s, wandered)


def _held_unrated(
    clocks: _Clocks, until_s: float, hold_s: float, wanders: _Wanders
) -> tuple[Array, Array]:
    """Return errors and bounds as `_held` does, after the first exchange alone."""
    wandered = wanders.held_s - wanders.mean * hold_s
    return clocks.later(until_s + hold_s - clocks.at_s, wandered)


def _errors(judged: dict[Moment, tuple[Array, Array]], nodes: slice) -> tuple[Errors, ...]:
    return tuple(
        _judge(moment, np.abs(error[nodes]), bound[nodes])
        for moment, (error, bound) in judged.items()
    )


def _judge(moment: Moment, size: Array, bound: Array) -> Errors:
    median, p99 = np.quantile(size, (0.5, 0.99))
    return Errors(
        moment=moment,
        median_s=float(median),
        p99_s=float(p99),
        max_s=float(size.max()),
        bound_median_s=float(np.median(bound)),
        inside=float(np.mean(size <= bound)),
    )


def _progress(ready_s: Array) -> tuple[tuple[float, int], ...]:
    """Points evenly spaced over the logarithm of the number of nodes, as in figure 7.13."""
    ordered = np.sort(ready_s)
    counts = np.unique(np.geomspace(1, ordered.size, PROGRESS_POINTS).round().astype(np.int64))
    return tuple((float(ordered[count - 1]), int(count)) for count in counts)
