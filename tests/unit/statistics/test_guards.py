"""Safeguards against claiming a false difference: tails, states, order, resolution."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from aferir.statistics.dependence import dependence, doubts
from aferir.statistics.ratio import paired_ratio, unpaired_ratio
from aferir.statistics.resolution import rounding_error, step
from aferir.statistics.shift import rank_p, shift
from aferir.statistics.tails import concentration, critical, two_sided


@pytest.mark.parametrize("n", [8, 12, 20, 33, 100])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.99, 0.999])
def test_a_critical_value_has_its_p_value(n: int, level: float) -> None:
    assert two_sided("biweight", n, critical("biweight", n, level)) == pytest.approx(1 - level)


def test_p_values_fall_and_end_nowhere() -> None:
    values = [two_sided("biweight", 12, t) for t in np.geomspace(0.01, 1e6, 200)]
    assert all(a > b for a, b in pairwise(values) if a > 1e-12)
    assert values[0] > 0.98


def test_many_samples_are_nearly_normal() -> None:
    assert critical("biweight", 10_000, 0.95) == pytest.approx(1.97, abs=0.02)


def test_concentration_by_hand() -> None:
    # Eight of eight: 2 / 4^8. Seven of eight: 2 (8 * 3/4 / 4^7 + 1 / 4^8).
    assert concentration(8, 0) == pytest.approx(2 / 4**8)
    assert concentration(8, 1) == pytest.approx(2 * (8 * 0.75 / 4**7 + 1 / 4**8))
    assert concentration(8, 8) == 1.0


def test_no_distribution_puts_more_than_a_quarter_into_a_window() -> None:
    """The bound behind `concentration`, tried on random distributions of a few values."""
    rng = np.random.default_rng(1)
    worst = 0.0
    for _ in range(300):
        places, weights = rng.integers(0, 12, 6), rng.dirichlet(np.full(6, 0.3))
        differences = places[:, None] - places[None, :]
        for low in (1, 2, 3, 4):
            inside = (differences >= low) & (differences < 2 * low)
            worst = max(worst, float((inside * np.outer(weights, weights)).sum()))
    assert 0.2 < worst <= 0.25 + 1e-12


def test_two_states_are_no_shift() -> None:
    """Six of eight pairs caught the baseline fast and the other side slow, by chance."""
    fast, slow = 1.0, 1.2
    noise = np.array([1.003, 0.998, 1.001, 0.997, 1.002, 1.0, 0.999, 1.004])
    values = np.array([slow] * 6 + [fast] * 2) * noise
    ratio = paired_ratio(values, noise[::-1])
    assert ratio.p_value is not None
    assert 0.005 < ratio.p_value < 0.05


def test_one_side_in_two_states_is_no_shift() -> None:
    rng = np.random.default_rng(2)
    a, b = (np.array([1.0] * k + [1.2] * (20 - k)) * rng.lognormal(0, 0.01, 20) for k in (7, 13))
    ratio = unpaired_ratio(a, b)
    assert ratio.p_value is not None
    assert ratio.p_value > 0.01
    assert ratio.interval is not None
    assert ratio.interval.high > 1.15


def test_ranks_agree_with_scipy() -> None:
    rng = np.random.default_rng(3)
    for n, m in ((5, 5), (8, 12), (20, 20), (70, 80)):
        a, b = rng.normal(0.3, 1, n), rng.normal(0, 1, m)
        expected = stats.mannwhitneyu(a, b, method="exact" if n < 50 else "asymptotic").pvalue
        assert rank_p(a, b) == pytest.approx(expected, rel=1e-6)
        place = shift(a, b, level=0.95)
        # The interval is what the test does not reject.
        assert rank_p(a, b, place.low - 0.01) < 0.06
        assert place.low < place.centre < place.high


def test_steps_are_found() -> None:
    assert step(np.array([0.05, 0.06, 0.05])) == pytest.approx(0.01)
    assert step(np.array([12.0, 13.0])) == 1.0
    assert step(np.array([0.1234567891234])) == 0.0
    assert step(np.empty(0)) == 0.0


def test_noise_makes_rounding_harmless() -> None:
    still, noisy = np.full(10, 0.05), np.array([0.03, 0.05, 0.07, 0.04, 0.06] * 2)
    assert rounding_error(still, 0.01) == pytest.approx(0.1)
    assert rounding_error(noisy, 0.01) < 1e-6


def test_durations_in_hundredths_of_a_second_show_no_difference_of_20_percent() -> None:
    ratio = paired_ratio([0.06] * 8, [0.05] * 8)
    assert ratio.interval is not None
    assert ratio.interval.low <= 1.0
    assert ratio.p_value == 1.0


def test_neighbours_that_resemble_each_other_are_worth_less() -> None:
    waves = np.sin(np.arange(40) / 5)
    found = dependence(waves)
    assert found.certain
    assert found.worth(40) < 5
    assert [w.code for w in doubts(found, 40, "samples", None)] == ["autocorrelated"]
    shuffled = dependence(np.random.default_rng(4).permutation(waves))
    assert shuffled.worth(40) == 40
    alternating = dependence(np.array([1.0, -1.0] * 10) + np.arange(20) / 1e3)
    assert not alternating.suspected


def test_a_difference_that_needs_independence_says_so() -> None:
    """Below ten pairs no order can show that they are independent."""
    values = 1.02 * np.array([1.0, 1.01, 0.99, 1.005, 0.995, 1.008, 0.992, 1.0])
    ratio = paired_ratio(values, np.ones(8) * 1.0003)
    assert ratio.p_value is not None
    assert ratio.p_value < 0.01
    assert [w.code for w in ratio.warnings] == ["autocorrelated"]
    assert "only if" in ratio.warnings[0].message
