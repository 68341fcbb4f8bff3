from __future__ import annotations

import tracemalloc

import msgspec
import numpy as np
import pytest

from aferir.clock import simulate as module
from aferir.clock.delays import Array, Network
from aferir.clock.exchange import StopRule
from aferir.clock.follow import Following, follow
from aferir.clock.looks import Looks, draw_looks
from aferir.clock.oscillator import Oscillators
from aferir.clock.results import Simulation
from aferir.clock.simulate import Settings, simulate
from aferir.clock.topology import TOPOLOGIES, Topology, Tree, build_tree, ready_times

STILL = Oscillators(rate_spread=0.0, wander=0.0)


def run(seed: int = 1, **changes: object) -> Simulation:
    return simulate(Settings(**changes), np.random.default_rng(seed))  # type: ignore[arg-type]


def test_a_seed_gives_one_result_and_another_another() -> None:
    first, again, other = (run(seed, nodes=2000) for seed in (1, 1, 2))
    assert first == again
    assert first.ready_s != other.ready_s


def test_the_published_arithmetic_stands_beside_the_simulation() -> None:
    """Dutra 2015, 7.3.1, with 1 ms for every node."""
    times = {name: run(nodes=10_000, topology=name).published_ready_s for name in TOPOLOGIES}
    assert times["one-level"] == pytest.approx(10.0)
    assert times["two-level"] == pytest.approx(0.141)
    assert times["tree"] == pytest.approx(0.014)


def test_a_node_costs_what_was_published_for_gigabit_ethernet() -> None:
    """Dutra 2015, 7.4: 30 messages and 2.952 ms for a node that is remote."""
    found = run(nodes=5000, topology="one-level")
    assert found.messages_mean == pytest.approx(30, abs=1)
    assert found.node_mean_s == pytest.approx(2.952e-3, rel=0.05)
    assert found.ready_s == pytest.approx(5000 * found.node_mean_s)


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("keep", ["round-trip", "directions"])
def test_all_clocks_are_inside_their_bounds(topology: Topology, keep: str) -> None:
    found = run(
        nodes=20_000,
        topology=topology,
        keep=keep,
        network=Network(asymmetry_s=30e-6, loss=1e-3),
        oscillators=Oscillators(rate_spread=100e-6, wander=0.1e-6),
    )
    for errors in (*found.errors, *(e for level in found.levels for e in level.errors)):
        assert errors.inside == 1.0
        assert errors.median_s <= errors.p99_s <= errors.max_s


def test_a_bound_that_promises_too_much_is_found_out() -> None:
    """Rates beyond the limit that the clocks are told: what `inside` is there for."""
    found = run(nodes=500, rate_limit=5e-6, oscillators=Oscillators(rate_spread=30e-6))
    assert found.at("held-unrated").inside < 0.5
    assert found.at("held").inside == 1.0


def test_without_asymmetry_jitter_alone_is_left() -> None:
    symmetric, skewed = (
        run(nodes=3000, network=Network(asymmetry_s=a), oscillators=STILL) for a in (0.0, 20e-6)
    )
    assert symmetric.at("set").max_s < 5e-6 < skewed.at("set").max_s


def test_a_clock_without_a_rate_is_what_drifts() -> None:
    """Without a rate the published clock errs by 10 ppm: 864 ms a day."""
    found = run(nodes=3000)
    assert found.at("held-unrated").max_s == pytest.approx(0.864, rel=0.05)
    assert found.at("held").max_s < 0.05
    exact = run(nodes=300, oscillators=STILL)
    assert exact.at("held-unrated").max_s < 20e-6


def test_parents_that_wait_pass_their_drift_on() -> None:
    found = run(nodes=50_000, topology="two-level")
    upper, lower = (level.errors[0] for level in found.levels)
    # Level 1 waits up to 0.9 s at 10 ppm; it was itself set by the reference, which cannot drift.
    assert lower.max_s > 3e-6 > upper.max_s
    rated = found.levels[1].errors[2]
    assert rated.moment == "rated"
    assert rated.max_s < lower.max_s


def test_errors_grow_with_the_depth_of_a_tree() -> None:
    levels = run(nodes=20_000, oscillators=STILL).levels
    deep = [level.errors[0].p99_s for level in levels if level.nodes > 500]
    assert deep == sorted(deep)


@pytest.mark.parametrize("keep", ["round-trip", "directions"])
@pytest.mark.parametrize(
    "network",
    [
        Network(jitter_s=3e-6, jitter_sigma=0.2),  # never near its floor
        Network(jitter_s=2e-6, jitter_sigma=1.5),
        Network(jitter_s=10e-9, jitter_sigma=0.1, tail_probability=0.97, tail_shape=3.0),
    ],
)
def test_jitter_alone_does_not_break_a_rate(network: Network, keep: str) -> None:
    """Without wander nothing hides the errors of the two looks."""
    oscillators = Oscillators(wander=0.0)
    found = run(
        nodes=20_000, topology="one-level", network=network, keep=keep, oscillators=oscillators
    )
    assert found.at("held").inside == 1.0


def test_after_one_exchange_the_error_only_grows_by_the_oscillators_wander() -> None:
    oscillators = Oscillators(rate_spread=0.0, wander=0.1e-6)
    held = run(nodes=5000, oscillators=oscillators).at("held-unrated")
    assert 0.5 * 8.64e-3 < held.max_s < 1.01 * 8.64e-3


def test_waiting_for_the_reference_costs_nothing() -> None:
    bounds = run(nodes=3000, topology="one-level").at("set").bound_median_s
    assert bounds == pytest.approx(44.5e-6, rel=0.05)


def test_a_rate_is_as_uncertain_as_all_rates_above_it() -> None:
    levels = run(nodes=5000, oscillators=STILL).levels
    bounds = [next(e for e in v.errors if e.moment == "held").bound_median_s for v in levels]
    for level, bound in zip(levels, bounds, strict=True):
        assert bound == pytest.approx(bounds[0] * level.level, rel=0.2)


def test_a_look_is_as_old_as_the_messages_after_it_took() -> None:
    nodes = np.zeros(20_000)
    found = draw_looks(
        np.random.default_rng(1),
        Network(loss=0.0, cold_s=0.0),
        StopRule(),
        asymmetries_s=nodes,
        rates=nodes,
        keep="round-trip",
        rate_limit=0.0,
    )
    assert found.age_s.min() >= 0
    # The kept one is any of all that are not discarded: half of 25 others follow it.
    assert found.age_s.mean() == pytest.approx(12.2 * 90e-6, rel=0.1)
    oldest = found.duration_s * (found.messages - 6) / found.messages
    assert np.all(found.age_s <= oldest * (1 + 1e-9))


def test_lost_datagrams_cost_time_alone() -> None:
    quiet, lossy = (
        run(nodes=2000, topology="one-level", network=Network(loss=loss)) for loss in (0.0, 0.01)
    )
    assert lossy.node_mean_s - quiet.node_mean_s == pytest.approx(30.3 * 0.0203 * 10e-3, rel=0.1)
    assert lossy.at("set").max_s == pytest.approx(quiet.at("set").max_s, rel=0.2)


def test_progress_leads_from_the_first_node_to_the_last() -> None:
    found = run(nodes=1000)
    times, counts = zip(*found.progress, strict=True)
    assert list(times) == sorted(times)
    assert counts[0] == 1
    assert counts[-1] == 1000
    assert times[-1] == found.ready_s


def test_a_result_is_ready_for_json() -> None:
    found = run(nodes=50)
    assert msgspec.json.decode(msgspec.json.encode(found), type=Simulation) == found


def test_simulated_errors_are_those_of_clocks_that_are_read() -> None:
    """`simulate` carries errors, `follow` reads clocks and estimates: one distribution."""
    network = Network(asymmetry_s=10e-6)
    oscillators = Oscillators(rate_spread=0.0, wander=0.1e-6)
    found = run(
        nodes=4000,
        topology="one-level",
        network=network,
        oscillators=oscillators,
        interval_s=15.0,
    )
    followed = follow(
        Following(
            rates=(0.0,) * 4000,
            network=network,
            oscillators=oscillators,
            interval_s=15.0,
            duration_s=found.rated_s + 86_400,
            checks=200,
        ),
        np.random.default_rng(8),
    )
    last = np.abs(followed.error_s[-1])
    share = (followed.times_s[-1] - 15.0) / 86_400
    assert np.median(last) / share == pytest.approx(found.at("held").median_s, rel=0.1)
    assert np.quantile(last, 0.99) / share == pytest.approx(found.at("held").p99_s, rel=0.15)
    bounds = followed.bound_s[-1]
    assert np.median(bounds) / share == pytest.approx(found.at("held").bound_median_s, rel=0.05)


def looks(rng: np.random.Generator, nodes: int) -> Looks:
    """Made up, with errors far larger than what is neglected."""
    error = rng.uniform(-1e-3, 1e-3, nodes)
    return Looks(
        error_s=error,
        bound_s=np.abs(error) + rng.uniform(0, 1e-4, nodes),
        deviation_s=np.full(nodes, 1e-3),
        gap_s=np.zeros(nodes),
        least_s=np.full(nodes, 2e-3),
        duration_s=rng.uniform(1e-3, 1.0, nodes),
        age_s=rng.uniform(0, 1e-3, nodes),
        messages=np.full(nodes, 30),
    )


def literal_errors(
    tree: Tree, pair: tuple[Looks, Looks], ready: tuple[Array, Array], rates: Array, end: float
) -> tuple[Array, Array]:
    """Global clocks as programs would keep them, node by node; errors at `end`, by looks."""
    offsets = np.random.default_rng(9).uniform(0, 100, rates.size)

    def local(node: int, true: float) -> float:
        return float(offsets[node] + true * (1 + rates[node]))

    offsets[0] = 0.0
    # Of each node: its reading at the look, global time then, global seconds per local one.
    once = {0: (0.0, 0.0, 1.0)}
    twice = dict(once)

    def shown(lines: dict[int, tuple[float, float, float]], node: int, true: float) -> float:
        base, value, rate = lines[node]
        return value + rate * (local(node, true) - base)

    for node in range(1, rates.size):
        parent = int(tree.parents[node])
        first, second = (ready[k][node] - pair[k].age_s[node - 1] for k in (0, 1))
        errors = [pair[k].error_s[node - 1] for k in (0, 1)]
        once[node] = (local(node, first), shown(once, parent, first) + errors[0], 1.0)
        seen = [local(parent, t) + e for t, e in zip((first, second), errors, strict=True)]
        rate = (seen[1] - seen[0]) / (local(node, second) - local(node, first))
        value = shown(twice, parent, second) + errors[1]
        twice[node] = (local(node, second), value, rate * twice[parent][2])
    nodes = range(rates.size)
    return (
        np.array([shown(once, n, end) - end for n in nodes]),
        np.array([shown(twice, n, end) - end for n in nodes]),
    )


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_errors_come_down_the_tree_as_they_would_from_clock_to_clock(topology: Topology) -> None:
    nodes, rng = 200, np.random.default_rng(7)
    tree = build_tree(topology, nodes)
    pair = (looks(rng, nodes), looks(rng, nodes))
    rates = np.concatenate([[0.0], rng.uniform(-30e-6, 30e-6, nodes)])
    ready = tuple(
        ready_times(tree, np.concatenate([[0.0], look.duration_s]), start)
        for look, start in zip(pair, (0.0, 500.0), strict=True)
    )
    end = 5000.0
    once, twice = literal_errors(tree, pair, (ready[0], ready[1]), rates, end)
    still = np.zeros(nodes + 1)
    first = module._first_clocks(tree, pair[0], ready[0], rates, 200e-6)
    second = module._second_clocks(
        tree,
        pair,
        (first.at_s, ready[1]),
        module._Wanders(still, still, still),
        Oscillators(wander=0.0),
    )
    # Products of two rates, some 1e-9 times 5000 s, are neglected.
    assert first.later(end - first.at_s)[0] == pytest.approx(once, abs=1e-5)
    assert second.later(end - second.at_s)[0] == pytest.approx(twice, abs=2e-5)
    assert np.abs(twice).max() > 1e-3


def most_bytes(nodes: int) -> int:
    """Memory that a run takes at most."""
    tracemalloc.start()
    try:
        run(nodes=nodes)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_ten_times_the_nodes_take_about_ten_times_the_memory() -> None:
    """And so the time, which is the bench's: nothing is done for pairs of nodes."""
    run(nodes=100)  # what is imported and cached
    assert most_bytes(100_000) <= 15 * most_bytes(10_000)
