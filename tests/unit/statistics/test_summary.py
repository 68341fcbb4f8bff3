from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from aferir.statistics.intervals import mean_interval, median_interval
from aferir.statistics.stopping import relative_half_width
from aferir.statistics.summary import summarise

values = st.lists(st.floats(0.001, 1e6), min_size=3, max_size=40)


def test_summary_by_hand() -> None:
    # 2, 4, 4, 6: mean 16/4 = 4; squares (4 + 0 + 0 + 4) / 3 = 8/3; sd = 1.632993;
    # t(0.975, 3) = 3.182446; half-width 3.182446 * 1.632993 / 2 = 2.598456.
    summary = summarise([2.0, 4.0, 4.0, 6.0])
    assert (summary.n, summary.mean, summary.median) == (4, 4.0, 4.0)
    assert (summary.minimum, summary.maximum) == (2.0, 6.0)
    assert summary.sd == pytest.approx(math.sqrt(8 / 3))
    assert summary.variation == pytest.approx(math.sqrt(8 / 3) / 4)
    assert summary.mean_interval is not None
    assert summary.mean_interval.low == pytest.approx(4 - 2.598456, abs=1e-5)
    assert summary.mean_interval.high == pytest.approx(4 + 2.598456, abs=1e-5)


def test_no_mean_of_what_cannot_be_negative_is_below_zero() -> None:
    signed = summarise([1.0, 2.0, 30.0]).mean_interval
    unsigned = summarise([1.0, 2.0, 30.0], signed=False).mean_interval
    assert signed is not None
    assert signed.low < 0
    assert unsigned == msgspec.structs.replace(signed, low=0.0)
    wrong = summarise([-1.0, 2.0, 30.0], signed=False)  # such samples are shown as they are
    assert wrong.mean_interval is not None
    assert wrong.mean_interval.low == -1.0


def test_mean_interval_agrees_with_scipy() -> None:
    sample = np.random.default_rng(1).normal(10, 2, 17)
    interval = mean_interval(sample, level=0.9)
    expected = stats.ttest_1samp(sample, 0).confidence_interval(0.9)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high))


def test_median_interval_by_hand() -> None:
    # n = 6: the whole range covers 1 - 2 / 2^6 = 0.96875; one step in, 1 - 14/64 = 0.78.
    interval = median_interval([6.0, 1.0, 5.0, 2.0, 4.0, 3.0])
    assert interval is not None
    assert (interval.low, interval.high, interval.level) == (1.0, 6.0, 0.96875)
    # n = 9: k = 2 covers 1 - 2 (1 + 9) / 512 = 0.9609; k = 3 only 0.8203.
    nine = median_interval([float(i) for i in range(1, 10)])
    assert nine is not None
    assert (nine.low, nine.high) == (2.0, 8.0)
    assert median_interval([1.0, 2.0, 3.0, 4.0, 5.0]) is None


@given(values)
def test_the_intervals_hold_their_estimates(sample: list[float]) -> None:
    summary = summarise(sample)
    assert summary.mean is not None
    assert summary.median is not None
    assert summary.mean_interval is not None
    slack = 1e-9 * summary.mean
    assert summary.mean_interval.low - slack <= summary.mean <= summary.mean_interval.high + slack
    if summary.median_interval is not None:
        assert summary.median_interval.contains(summary.median)


@given(values, st.floats(0.01, 100.0))
def test_summaries_scale_with_the_unit(sample: list[float], factor: float) -> None:
    one, scaled = summarise(sample), summarise([factor * value for value in sample])
    assert one.mean is not None
    for name in ("mean", "sd", "median", "quantile_25", "maximum"):
        expected = getattr(one, name) * factor
        assert getattr(scaled, name) == pytest.approx(expected, rel=1e-6, abs=1e-9 * one.mean)
    assert scaled.variation == pytest.approx(one.variation, rel=1e-6, abs=1e-9)


@given(values)
def test_order_does_not_matter_to_a_summary(sample: list[float]) -> None:
    one, turned = summarise(sample), summarise(sample[::-1])
    assert turned.mean == pytest.approx(one.mean)
    assert turned.median == one.median
    assert turned.median_interval == one.median_interval


def test_the_t_interval_covers() -> None:
    rng = np.random.default_rng(2)
    inside = 0
    for _ in range(2000):
        interval = mean_interval(rng.normal(5, 1, 8))
        assert interval is not None
        inside += interval.contains(5.0)
    assert 0.935 <= inside / 2000 <= 0.965


def test_the_median_interval_covers_whatever_the_distribution() -> None:
    rng = np.random.default_rng(3)
    inside = 0
    for _ in range(2000):
        interval = median_interval(rng.lognormal(0, 1, 12))
        assert interval is not None
        inside += interval.contains(1.0)
    # n = 12, k = 3 covers 0.9614.
    assert 0.945 <= inside / 2000 <= 0.975


def test_few_bad_and_constant_samples() -> None:
    assert summarise([]).n == 0
    assert summarise([]).mean is None
    assert summarise([]).warnings == ()
    one = summarise([3.0])
    assert (one.n, one.mean, one.sd, one.mean_interval) == (1, 3.0, None, None)
    assert [w.code for w in one.warnings] == ["too-few"]
    two = summarise([3.0, 5.0])
    assert (two.n, two.mean, two.mean_interval) == (2, 4.0, None)
    assert [w.code for w in two.warnings] == ["too-few"]
    constant = summarise([2.0] * 12)
    assert (constant.sd, constant.variation) == (0.0, 0.0)
    assert [w.code for w in constant.warnings] == ["constant"]
    dirty = summarise([1.0, math.nan, 2.0, math.inf])
    assert (dirty.n, dirty.mean) == (2, 1.5)
    assert "not-finite" in [w.code for w in dirty.warnings]
    with pytest.raises(ValueError, match="one dimension"):
        summarise(np.zeros((2, 2)))


def test_relative_half_width() -> None:
    # The interval by hand above: 2.598456 / 4.
    assert relative_half_width([2.0, 4.0, 4.0, 6.0]) == pytest.approx(0.649614, abs=1e-5)
    assert relative_half_width([]) == math.inf
    assert relative_half_width([1.0]) == math.inf
    assert relative_half_width([-1.0, 1.0]) == math.inf
    assert relative_half_width([5.0] * 3) == 0.0
    assert relative_half_width([20.0, 40.0, 40.0, 60.0]) == pytest.approx(0.649614, abs=1e-5)
