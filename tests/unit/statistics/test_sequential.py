"""Bounds of sequential tests: their error by simulation, and the decisions they lead to."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from aferir.statistics.ratio import paired_ratio
from aferir.statistics.sequential import Limits, bounds, look, rounds_needed, score_of, visible

TEN = tuple(number / 10 for number in range(1, 11))


@pytest.mark.parametrize("level", [0.01, 0.05])
def test_one_look_has_the_usual_bound(level: float) -> None:
    assert bounds((1.0,), level)[0] == pytest.approx(special.ndtri(1 - level), abs=0.01)


@pytest.mark.parametrize("level", [0.01, 0.05])
def test_looking_ten_times_keeps_the_error(level: float) -> None:
    steps = np.random.default_rng(1).standard_normal((100_000, 10))
    scores = np.cumsum(steps, axis=1) / np.sqrt(np.arange(1, 11))
    crossed = (scores > np.array(bounds(TEN, level))).any(axis=1).mean()
    assert 0.85 * level < crossed <= 1.05 * level


def test_what_is_spent_early_is_little() -> None:
    found = bounds(TEN, 0.01)
    assert list(found) == sorted(found, reverse=True)
    assert special.ndtr(-found[0]) == pytest.approx(0.0001, rel=0.05)
    assert bounds(TEN[:3], 0.01) == found[:3]  # looks that follow move none


@pytest.mark.parametrize("fractions", [(0.5, 0.5), (0.6, 0.5), (0.5, 1.1), (-0.1,)])
def test_looks_that_do_not_rise_are_refused(fractions: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="rise"):
        bounds(fractions, 0.01)


def sample(effect: float, n: int) -> tuple[np.ndarray, np.ndarray]:
    noise = np.random.default_rng(7).normal(0, 0.01, n)
    return 1 + np.zeros(n), (1 + effect) * np.exp(noise - noise.mean())


def test_a_ratio_is_judged_against_the_limit() -> None:
    limits = Limits(at_most=0.03)
    for effect, answer in ((0.06, "slower"), (0.0, "pass"), (0.03, "undecided")):
        base, head = sample(effect, 40)
        assert look(paired_ratio(head, base), 0, (1.0,), limits).answer == answer


@pytest.mark.parametrize("percent", [0, 1, 3, 7])
@pytest.mark.parametrize("base", [1.0, 3.0, 12345.0])
def test_counts_that_do_not_scatter_may_reach_the_limit_and_not_exceed_it(
    base: float, percent: int
) -> None:
    limits = Limits(at_most=percent / 100)
    for above, answer in ((0.0, "pass"), (1e-6, "slower"), (-1e-6, "pass")):
        head = base * (1 + percent / 100) * (1 + above)
        ratio = paired_ratio([head] * 8, [base] * 8)
        assert look(ratio, 0, (1.0,), limits).answer == answer


def test_without_an_error_nothing_is_decided() -> None:
    limits = Limits(at_most=0.0)
    one = paired_ratio([2.0], [1.0])
    assert score_of(one, 0.0) is None
    assert look(one, 0, (1.0,), limits).answer == "undecided"
    assert rounds_needed(one, limits) is None


def test_more_noise_takes_more_pairs_by_its_square() -> None:
    limits = Limits(at_most=0.0)
    base, head = sample(0.01, 40)
    calm = rounds_needed(paired_ratio(head, base), limits)
    noisy = rounds_needed(paired_ratio(head**2 / head.mean(), base), limits)
    assert calm is not None
    assert noisy is not None
    assert noisy / calm == pytest.approx(4, rel=0.2)
    assert visible(0.02, 100, limits) == pytest.approx(2 * visible(0.01, 100, limits), rel=0.01)
