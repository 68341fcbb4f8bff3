from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.statistics.robust import locate
from aferir.statistics.tails import Tail, critical

samples = st.lists(st.floats(-1000.0, 1000.0), min_size=2, max_size=30)


def test_biweight_by_hand() -> None:
    # -4 ... 4: median 0, distances 0 1 1 2 2 3 3 4 4, their quantile 0.6 is 2.8, so values weigh
    # nothing beyond 2.8 * 6.07 / 0.8416 = 20.195.
    # u^2 = x^2 / 407.83; above = 2 sum x^2 (1 - u^2)^4 for x = 1 ... 4:
    #   2 (0.99023 + 3.84537 + 8.23147 + 13.63310) = 53.40032
    # below = 1 + 2 sum (1 - u^2)(1 - 5 u^2):
    #   1 + 2 (0.98532 + 0.94163 + 0.87003 + 0.77230) = 8.13857
    # error = sqrt(53.40032 / (8.13857 * 7.13857)) = 0.95872.
    place = locate(np.arange(-4.0, 5.0))
    assert place is not None
    assert place.method == "biweight"
    assert place.centre == pytest.approx(0.0, abs=1e-12)
    assert place.error == pytest.approx(0.95872, abs=2e-5)
    assert place.ignored == 0


def test_below_eight_samples_it_is_the_mean() -> None:
    few = locate(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 70.0]))
    assert few is not None
    assert (few.method, few.centre) == ("mean", 13.0)
    enough = locate(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 70.0]))
    assert enough is not None
    assert (enough.method, enough.ignored) == ("biweight", 1)
    assert locate(np.array([1.0])) is None


@pytest.mark.parametrize("rounding", [0.0, 1e-15, 5e-324])
def test_more_than_half_alike_gives_no_scale(rounding: float) -> None:
    alike = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0]) * rounding
    place = locate(np.concatenate([alike, [2.0, 3.0]]))
    assert place is not None
    assert place.method == "mean"
    assert place.centre == pytest.approx(0.5)


@pytest.mark.parametrize("n", [4, 6, 8, 10, 15, 30])
def test_its_interval_keeps_its_level(n: int) -> None:
    """Normal samples, where nothing is to be gained by robustness, still cover 95 %."""
    rng = np.random.default_rng(n)
    missed = 0
    for _ in range(2000):
        place = locate(rng.normal(0, 1, n))
        assert place is not None
        tail: Tail = "biweight" if place.method == "biweight" else "t"
        missed += abs(place.centre) > critical(tail, n, 0.95) * place.error
    assert 0.035 <= missed / 2000 <= 0.068


@given(samples, st.floats(0.1, 10.0), st.floats(-100.0, 100.0))
def test_it_moves_and_scales_with_its_samples(
    values: list[float], factor: float, shift: float
) -> None:
    array = np.array(values)
    one, other = locate(array), locate(factor * array + shift)
    assert one is not None
    assert other is not None
    if one.method == other.method and one.ignored == other.ignored:
        expected = factor * one.centre + shift
        assert other.centre == pytest.approx(expected, rel=1e-6, abs=1e-6)
        assert math.isfinite(other.error)


@given(samples)
def test_mirrored_samples_have_a_mirrored_centre(values: list[float]) -> None:
    one, other = locate(np.array(values)), locate(-np.array(values))
    assert one is not None
    assert other is not None
    assert other.centre == pytest.approx(-one.centre, rel=1e-9, abs=1e-9)
    assert other.error == pytest.approx(one.error, rel=1e-6, abs=1e-12)
