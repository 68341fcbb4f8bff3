"""Histograms of latencies, sliding windows, and confidence intervals of quantiles."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from aferir.colocation.histogram import Histogram, Windows, enough
from aferir.colocation.order import bounds_ranks, fewest, lower_rank

LATENCIES = st.floats(min_value=1e-6, max_value=1e6)


@given(st.lists(LATENCIES, min_size=1, max_size=60), st.floats(min_value=0.01, max_value=0.99))
def test_quantiles_are_those_of_the_sorted_values_to_three_digits(
    values: list[float], share: float
) -> None:
    rank = max(1, math.ceil(round(share * len(values), 9)))
    exact = sorted(values)[rank - 1]
    # 1/2048 of the value, and the nanosecond that it is kept in.
    assert Histogram(values).value(share) == pytest.approx(exact, rel=5e-4, abs=1e-9)


def test_latencies_of_any_length_are_taken_and_impossible_ones_refused() -> None:
    made = Histogram([0.0, 1e-9, math.inf])
    assert made.total == 3
    assert made.value(0.01) == 0.0
    for impossible in (math.nan, -1.0):
        with pytest.raises(ValueError, match="no latency"):
            made.add(impossible)


@given(st.lists(LATENCIES, max_size=30), st.lists(LATENCIES, max_size=30))
def test_what_is_merged_is_as_if_recorded_and_its_source_stays(
    one: list[float], other: list[float]
) -> None:
    both, source = Histogram(one), Histogram(other)
    both.merge(source)
    assert list(both.items()) == list(Histogram(one + other).items())
    assert both.total == len(one + other)
    both.add(1.0)
    assert list(source.items()) == list(Histogram(other).items())


def test_what_is_longer_than_a_bound_is_counted() -> None:
    assert Histogram([0.1, 0.19, 0.21, 5.0]).above(0.2) == 2


@given(
    st.integers(min_value=1, max_value=3000),
    st.sampled_from([0.5, 0.9, 0.95, 0.99]),
    st.sampled_from([0.9, 0.95]),
)
def test_ranks_are_those_of_the_binomial_distribution(
    samples: int, share: float, confidence: float
) -> None:
    rest = (1 - confidence) / 2
    ranks = bounds_ranks(samples, share, confidence)
    # P(B <= k) <= rest for k < low, P(B >= k) <= rest for k >= high, and both as close as can be.
    low = int(stats.binom.ppf(rest, samples, share))
    low += int(stats.binom.cdf(low, samples, share) <= rest)
    high = int(stats.binom.isf(rest, samples, share)) + 1
    if low < 1 or high > samples:
        assert ranks is None
    else:
        assert ranks == (low, high)
    assert lower_rank(samples, share, confidence) == max(low, 0)
    assert (samples >= fewest(share, confidence)) == (high <= samples)


def test_few_late_answers_of_few_say_that_a_quantile_is_late_for_certain() -> None:
    told = Histogram([0.01] * 96 + [0.5] * 4).latency(0.99)
    assert told is not None
    assert told.low_s == pytest.approx(0.5, rel=1e-3)
    assert told.high_s == math.inf
    some = Histogram([0.01] * 97 + [0.5] * 3).latency(0.99)
    assert some is not None
    assert some.low_s < 0.02
    one = Histogram([0.5]).latency(0.95)
    assert one is not None
    assert one.low_s == 0.0


def test_a_window_holds_as_many_latencies_as_its_quantile_needs() -> None:
    assert [enough(share) for share in (0.95, 0.99)] == [100, 515]
    for share in (0.5, 0.9, 0.95, 0.99, 0.999):
        found = Histogram(k / 1000 for k in range(enough(share))).quantile(share)
        assert found is not None


def test_a_95th_percentile_of_40_latencies_is_no_number_and_of_72_one() -> None:
    few, enough = (Histogram(k / 1000 for k in range(n)) for n in (40, 72))
    assert few.quantile(0.95) is None
    told = few.latency(0.95)
    assert told is not None
    assert (told.high_s, told.n) == (math.inf, 40)
    assert enough.quantile(0.95) is not None
    assert Histogram().latency(0.95) is None


def test_the_interval_covers_the_true_quantile_as_often_as_it_says() -> None:
    draws = stats.lognorm.rvs(1.0, size=(400, 200), random_state=1)
    true = float(stats.lognorm.ppf(0.95, 1.0))
    covered = 0
    for row in draws:
        told = Histogram(row.tolist()).quantile(0.95)
        assert told is not None
        covered += told.low_s <= true <= told.high_s
    assert covered >= 0.93 * len(draws)


def test_windows_forget_what_has_become_too_old() -> None:
    windows = Windows(slot_s=0.1, slots=10)
    windows.add(0.0, Histogram([1.0]))
    windows.add(0.55, Histogram([2.0]))
    assert windows.latest(10_000).total == 2
    windows.advance(1.05)
    assert [value for value, _ in windows.latest(10_000).items()] == [pytest.approx(2.0, rel=1e-3)]
    windows.advance(60.0)
    assert windows.latest(10_000).total == 0


def test_a_busy_service_is_judged_by_its_last_moments_a_quiet_one_by_more() -> None:
    windows = Windows(slot_s=0.25, slots=10)
    for slot in range(5):
        windows.add(slot / 4, Histogram([float(slot + 1)] * 10))
    assert windows.latest(samples=10).total == 10
    assert windows.latest(samples=25).total == 30
    assert windows.latest(samples=1, slots=2).total == 20
    assert windows.latest(samples=10_000).total == 50


def test_a_clock_that_goes_back_changes_no_window() -> None:
    windows = Windows(slot_s=0.1, slots=10)
    windows.add(100.0, Histogram([1.0]))
    windows.add(50.0, Histogram([2.0]))
    assert windows.latest(10_000).total == 2
