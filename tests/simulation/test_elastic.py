"""ElasticMovie on simulated time: effects of latencies, policies and shapes of load."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aferir.elastic.arrivals import SHAPES, arrivals, read_trace
from aferir.elastic.front import Settings
from aferir.elastic.metrics import Trace, elasticity
from aferir.elastic.published import fit, read, reproduce
from aferir.elastic.simulate import Load, gamma, resampled, simulate
from aferir.errors import UsageError
from tests.checkout import ROOT

REFERENCE = ROOT / "reference"


def run(**changes: Any) -> list[int]:
    given_ = {"clients_per_node": 100, "patience_s": 60.0} | changes
    latency_s = float(given_.pop("latency_s", 40.0))
    blocked = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        load = Load(clients=400, interarrival_s=5.0, video_s=1800.0)
        result = simulate(Settings(**given_), load, rng, lambda: latency_s)
        assert result.accounted
        assert result.allocations == result.releases + result.trace.nodes[-1]
        assert result.trace.nodes[-1] == given_.get("warm_nodes", 0)
        blocked.append(result.books.blocked)
    return blocked


def test_nobody_is_blocked_where_allocations_end_within_the_patience() -> None:
    assert run(latency_s=59.0) == [0] * 5


def test_allocations_beyond_the_patience_block_those_who_came_first() -> None:
    """Four Nodes; whoever comes in the first 20 s of 80 is blocked: 4 clients of each, about."""
    blocked = run(latency_s=80.0)
    assert 8 <= np.mean(blocked) <= 28


def test_a_warm_node_hides_the_latency() -> None:
    assert run(latency_s=200.0, warm_nodes=1) == [0] * 5
    assert min(run(latency_s=200.0)) > 40


def test_the_same_seed_gives_the_same_run() -> None:
    load = Load(clients=300, interarrival_s=2.0, video_s=600.0)
    policy = Settings(clients_per_node=10, patience_s=30.0)

    def once(seed: int) -> tuple[float, ...]:
        rng = np.random.default_rng(seed)
        return simulate(policy, load, rng, gamma(25.0, 10.0, rng)).trace.times_s

    assert once(3) == once(3)
    assert once(3) != once(4)


def test_latencies_have_the_mean_and_deviation_that_were_asked_for() -> None:
    rng = np.random.default_rng(1)
    draw = gamma(101.0, 14.7, rng)
    drawn = [draw() for _ in range(20_000)]
    assert np.mean(drawn) == pytest.approx(101.0, rel=0.01)
    assert np.std(drawn) == pytest.approx(14.7, rel=0.05)
    again = resampled([3.0, 5.0], rng)
    assert {again() for _ in range(50)} == {3.0, 5.0}
    with pytest.raises(ValueError, match="above 0"):
        resampled([1.0, -1.0], rng)


def test_metrics_of_a_trace_that_can_be_added_up_by_hand() -> None:
    trace = Trace(
        times_s=(0.0, 10.0, 20.0, 30.0, 40.0), clients=(5, 5, 15, 0, 0), nodes=(0, 1, 1, 2, 0)
    )
    found = elasticity(trace, clients_per_node=10)
    assert found.under_timeshare == pytest.approx(0.5)
    assert found.over_timeshare == pytest.approx(0.25)
    assert found.under_accuracy == pytest.approx((1 + 0.5) / 3)
    assert found.over_accuracy == 0.0
    assert found.node_seconds == pytest.approx(40.0)
    assert found.jitter == pytest.approx((2 - 2) / 40)


def test_published_rows_are_inside_where_allocations_delay_one_another() -> None:
    cells = read(REFERENCE)
    assert len(cells) == 10
    fits = fit(cells, seed=1)
    rows = [reproduce(cell, fits, seed=1) for cell in cells]
    assert sum(row.fitted for row in rows) == 2
    assert sum(bool(row.inside) for row in rows) >= 8
    assert sum(bool(row.inside_alone) for row in rows) <= 2


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_brings_all_clients_in_order_at_the_mean_distance(shape: str) -> None:
    rng = np.random.default_rng(1)
    times = arrivals(shape, clients=5000, interarrival_s=2.0, rng=rng)
    assert times.size == 5000
    assert np.all(np.diff(times) >= 0)
    assert times[0] >= 0
    assert times[-1] == pytest.approx(10_000, rel=0.05)


@pytest.mark.parametrize(
    ("shape", "first_half"),
    [("step", 1 / 3), ("ramp", 1 / 4), ("diurnal", 1 / 2), ("flash-crowd", 29 / 39)],
)
def test_clients_come_where_the_profile_is_high(shape: str, first_half: float) -> None:
    times = arrivals(shape, clients=40_000, interarrival_s=1.0, rng=np.random.default_rng(2))
    assert np.mean(times < 20_000) == pytest.approx(first_half, abs=0.01)


def test_a_flash_crowd_blocks_whom_a_steady_load_does_not() -> None:
    blocked = {}
    for shape in ("constant", "flash-crowd"):
        rng = np.random.default_rng(5)
        load = Load(clients=2000, interarrival_s=1.0, video_s=300.0, shape=shape)
        policy = Settings(clients_per_node=20, patience_s=30.0, most_nodes=20)
        blocked[shape] = simulate(policy, load, rng, lambda: 10.0).books.blocked
    assert blocked["constant"] == 0
    assert blocked["flash-crowd"] > 100


def test_a_trace_is_read_and_replayed(tmp_path: Path) -> None:
    path = tmp_path / "trace.txt"
    path.write_text("5\n1.5\n\n300\n", "utf-8")
    times = read_trace(path)
    assert times.tolist() == [1.5, 5, 300]
    load = Load(clients=1, interarrival_s=1.0, video_s=10.0)
    rng = np.random.default_rng(1)
    policy = Settings(clients_per_node=1, patience_s=30.0)
    result = simulate(policy, load, rng, lambda: 1.0, trace=times)
    assert result.books.served == 3
    assert result.duration_s == 311.0


@pytest.mark.parametrize("text", ["", "x", "-1", "nan", "inf", "1 2 y", "\x00"])
def test_a_trace_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "trace.txt"
    path.write_text(text, "utf-8")
    with pytest.raises(UsageError, match="seconds"):
        read_trace(path)
    with pytest.raises(UsageError, match="cannot be read"):
        read_trace(tmp_path / "absent")
