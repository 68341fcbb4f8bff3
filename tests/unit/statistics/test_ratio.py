from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.statistics.ratio import (
    Ratio,
    at_level,
    paired_ratio,
    unpaired_ratio,
)

durations = st.floats(0.01, 1000.0)
pairs = st.lists(st.tuples(durations, durations), min_size=3, max_size=20)
samples = st.lists(durations, min_size=3, max_size=20)


def ends(ratio: Ratio) -> tuple[float, float]:
    assert ratio.interval is not None
    return ratio.interval.low, ratio.interval.high


def test_paired_ratio_by_hand() -> None:
    # Ratios 1.1, 1.2, 1.3 as logs: 0.0953102, 0.1823216, 0.2623643; their mean is 0.1799987.
    # Squares (0.0071721 + 0.0000054 + 0.0067841) / 2 = 0.0069808; sd = 0.0835512.
    # error = sd / sqrt 3 = 0.0482383; t(0.975, 2) = 4.3026527; half-width 0.2075526.
    ratio = paired_ratio([1.1, 2.4, 3.9], [1.0, 2.0, 3.0])
    assert ratio.estimate == pytest.approx((1.1 * 1.2 * 1.3) ** (1 / 3))
    assert ends(ratio) == pytest.approx((math.exp(-0.0275539), math.exp(0.3875513)), rel=1e-5)
    assert (ratio.n, ratio.n_baseline, ratio.paired) == (3, 3, True)


def test_a_spoilt_pair_weighs_nothing() -> None:
    baseline = np.array([1.00, 1.01, 0.99, 1.00, 1.02, 0.98, 1.01, 1.00, 0.99, 1.00])
    slower = 1.1 * np.array([1.01, 1.00, 1.00, 0.99, 1.01, 0.99, 1.00, 1.01, 1.00, 0.99])
    spoilt = baseline.copy()
    spoilt[3] = 2.0
    ratio = paired_ratio(slower, spoilt)
    assert ratio.ignored == 1
    assert ratio.estimate == pytest.approx(1.1, rel=0.01)
    assert ratio.p_value is not None
    assert ratio.p_value < 1e-4


def test_drift_that_hits_both_sides_cancels() -> None:
    baseline = np.linspace(1, 3, 12)
    ratio = paired_ratio(1.25 * baseline, baseline)
    assert ratio.estimate == pytest.approx(1.25)


@given(pairs)
def test_swapping_the_sides_inverts_a_paired_ratio(both: list[tuple[float, float]]) -> None:
    a, b = (list(side) for side in zip(*both, strict=True))
    one, other = paired_ratio(a, b), paired_ratio(b, a)
    assert one.estimate is not None
    assert other.estimate is not None
    assert one.estimate == pytest.approx(1 / other.estimate)
    low, high = ends(one)
    other_low, other_high = ends(other)
    if low > 1e-150 and high < 1e150:
        assert (low, high) == pytest.approx((1 / other_high, 1 / other_low))
    assert one.p_value == pytest.approx(other.p_value, abs=1e-12)


@given(samples, samples)
def test_swapping_the_sides_inverts_an_unpaired_ratio(a: list[float], b: list[float]) -> None:
    one, other = unpaired_ratio(a, b), unpaired_ratio(b, a)
    assert one.estimate is not None
    assert other.estimate is not None
    assert one.estimate == pytest.approx(1 / other.estimate)
    assert one.p_value == pytest.approx(other.p_value, abs=1e-12)


@given(pairs, st.floats(0.01, 100.0))
def test_a_common_unit_does_not_matter(both: list[tuple[float, float]], factor: float) -> None:
    a, b = (np.array(side) for side in zip(*both, strict=True))
    one, scaled = paired_ratio(a, b), paired_ratio(factor * a, factor * b)
    assert scaled.estimate == pytest.approx(one.estimate, rel=1e-6)


@given(pairs)
def test_the_interval_holds_the_estimate(both: list[tuple[float, float]]) -> None:
    a, b = (list(side) for side in zip(*both, strict=True))
    for ratio in (paired_ratio(a, b), unpaired_ratio(a, b)):
        low, high = ends(ratio)
        assert ratio.estimate is not None
        assert low <= ratio.estimate * (1 + 1e-12)
        assert ratio.estimate <= high * (1 + 1e-12)


@given(pairs)
def test_the_order_of_pairs_does_not_matter(both: list[tuple[float, float]]) -> None:
    shuffled = sorted(both)
    a, b = (list(side) for side in zip(*both, strict=True))
    c, d = (list(side) for side in zip(*shuffled, strict=True))
    assert paired_ratio(a, b).estimate == pytest.approx(paired_ratio(c, d).estimate)


def test_a_wider_level_gives_a_wider_interval() -> None:
    ratio = paired_ratio([1.1, 1.2, 1.15, 1.3], [1.0, 1.1, 1.0, 1.2])
    wide, narrow = at_level(ratio, 0.99), at_level(ratio, 0.9)
    assert wide is not None
    assert narrow is not None
    assert wide.low < narrow.low < narrow.high < wide.high
    again = at_level(ratio, 0.95)
    assert again is not None
    assert (again.low, again.high) == pytest.approx(ends(ratio))


def test_none_one_and_two_samples() -> None:
    assert paired_ratio([], []).estimate is None
    one = paired_ratio([2.0], [1.0])
    assert one.estimate == pytest.approx(2.0)
    assert one.interval is None
    assert one.p_value is None
    assert [w.code for w in one.warnings] == ["too-few"]
    two = paired_ratio([1.1, 2.4], [1.0, 2.0])
    assert two.estimate == pytest.approx(math.sqrt(1.1 * 1.2))
    assert (two.interval, two.p_value, [w.code for w in two.warnings]) == (None, None, ["too-few"])
    lone = unpaired_ratio([2.0], [1.0, 1.1, 1.2])
    assert lone.interval is None
    assert (lone.n, lone.n_baseline) == (1, 3)
    assert lone.estimate == pytest.approx(2 / (1.0 * 1.1 * 1.2) ** (1 / 3))
    assert unpaired_ratio([], [1.0]).estimate is None


def test_bad_samples_are_left_out_with_a_warning() -> None:
    ratio = paired_ratio([1.1, math.nan, 1.2, 0.0], [1.0, 1.0, math.inf, 1.0])
    assert ratio.n == 1
    assert "not-positive" in [w.code for w in ratio.warnings]
    with pytest.raises(ValueError, match="equal lengths"):
        paired_ratio([1.0], [1.0, 2.0])


def test_samples_that_never_vary() -> None:
    same = paired_ratio([1.0] * 10, [1.0] * 10)
    assert (same.estimate, same.p_value) == (1.0, 1.0)
    other = unpaired_ratio([2.125] * 10, [1.125] * 10)
    assert other.estimate == pytest.approx(2.125 / 1.125)
    assert other.p_value is not None
    assert other.p_value < 1e-4
    assert [w.code for w in other.warnings] == ["constant"]


def test_a_difference_below_the_resolution_is_none() -> None:
    """A clock that counts whole seconds says 1 and 2 of durations of 1.49 and 1.51 s."""
    for ratio in (paired_ratio([2.0] * 10, [1.0] * 10), unpaired_ratio([2.0] * 10, [1.0] * 10)):
        assert ratio.p_value == 1.0
        low, high = ends(ratio)
        assert low <= 1.5 / 1.5
        assert high >= 2.5 / 1.0


def test_wild_pairs_do_not_overflow() -> None:
    low, high = ends(paired_ratio([1e-9, 1.0, 1e200], [1e200, 1.0, 1e-9]))
    assert low == 0.0
    assert high == math.inf


def test_pairs_that_are_worth_fewer_than_three_have_no_interval() -> None:
    """With 1.5 independent pairs it reached from nothing to 10^30 times."""
    ratio = paired_ratio(np.exp(0.3 * np.arange(13)), np.ones(13))
    assert ratio.worth is not None
    assert ratio.worth < 3
    assert (ratio.n, ratio.interval, ratio.p_value, ratio.log_error) == (13, None, None, None)
    (warning,) = [w for w in ratio.warnings if w.code == "autocorrelated"]
    assert "too few for an interval" in warning.message
