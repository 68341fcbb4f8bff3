from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.clock.delays import Network, draw_jitter, draw_losses
from aferir.clock.oscillator import Oscillators, Process, draw_rates, phases, reflect, wander


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=20), st.floats(0.01, 10))
def test_reflection_stays_inside_and_leaves_alone_what_is(
    values: list[float], limit: float
) -> None:
    given_ = np.array(values)
    folded = reflect(given_, limit)
    assert np.all(np.abs(folded) <= limit * (1 + 1e-12))
    inside = np.abs(given_) <= limit
    assert folded[inside] == pytest.approx(given_[inside], abs=1e-9 * limit + 1e-12)


def test_reflection_by_hand() -> None:
    assert reflect(np.array([1.2, -1.5, 3.5, 5.0]), 1.0) == pytest.approx([0.8, -0.5, -0.5, 1.0])
    assert reflect(np.array([1.2]), 0.0) == [0.0]


@pytest.mark.parametrize("process", ["random-walk", "flicker"])
def test_the_rate_keeps_to_its_limit(process: Process) -> None:
    oscillators = Oscillators(wander=0.1e-6, process=process, walk_per_root_s=1e-8)
    rng = np.random.default_rng(1)
    rates = np.array(list(wander(rng, oscillators, 50, [60.0] * 1440)))
    assert rates.shape == (1441, 50)
    assert np.abs(rates).max() <= 0.1e-6 * (1 + 1e-12)
    assert np.abs(rates).max() > 0.09e-6


def test_a_random_walk_spreads_with_the_root_of_time() -> None:
    oscillators = Oscillators(wander=1.0, process="random-walk", walk_per_root_s=1e-9)
    start, *_, end = wander(np.random.default_rng(2), oscillators, 20_000, [25.0] * 4)
    assert np.std(end - start) == pytest.approx(1e-9 * 10, rel=0.03)


def test_flicker_changes_alike_over_every_decade() -> None:
    """The Allan deviation of flicker is flat; that of a random walk would grow tenfold here."""
    oscillators = Oscillators(wander=0.1e-6, process="flicker")
    changes = []
    for step in (10.0, 100.0, 1000.0):
        start, end = wander(np.random.default_rng(3), oscillators, 20_000, [step])
        changes.append(np.std(end - start))
    assert max(changes) < 1.6 * min(changes)


def test_phases_are_the_integral_of_linear_rates() -> None:
    rates = np.array([[0.0], [2.0], [2.0]])
    assert phases(rates, np.array([3.0, 4.0]))[:, 0] == pytest.approx([0.0, 3.0, 11.0])


def test_rates_fill_their_spread() -> None:
    rates = draw_rates(np.random.default_rng(4), Oscillators(rate_spread=10e-6), 10_000)
    assert np.abs(rates).max() <= 10e-6
    assert np.std(rates) == pytest.approx(10e-6 / np.sqrt(3), rel=0.05)


def test_jitter_has_its_median_and_its_tail() -> None:
    network = Network(jitter_s=1e-6, jitter_sigma=0.5, tail_probability=0.01, tail_scale_s=1e-4)
    delays = draw_jitter(np.random.default_rng(5), network, (40, 25_000))
    assert np.median(delays) == pytest.approx(1e-6, rel=0.02)
    assert np.mean(delays > 1e-4) == pytest.approx(0.01, rel=0.05)
    # Pareto: beyond ten times its scale lies 10 ** -shape of the tail.
    assert np.mean(delays > 1e-3) == pytest.approx(0.01 * 10**-1.5, rel=0.2)


def test_losses_are_those_of_both_datagrams() -> None:
    answered = np.full(50_000, 30)
    lost = draw_losses(np.random.default_rng(6), Network(loss=0.05), answered)
    share = 1 - 0.95**2
    assert lost.mean() == pytest.approx(30 * share / (1 - share), rel=0.02)
    assert draw_losses(np.random.default_rng(6), Network(loss=0.0), answered).max() == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"floor_s": -1e-6},
        {"asymmetry_s": 1.0},
        {"loss": 1.0},
        {"tail_probability": 1.5},
        {"tail_shape": 0.0},
        {"jitter_sigma": -1.0},
    ],
)
def test_a_network_that_cannot_be_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"are not|is in|is positive"):
        Network(**wrong)
