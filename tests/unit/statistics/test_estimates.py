from __future__ import annotations

import math

import pytest

from aferir.statistics.estimates import (
    Estimate,
    difference,
    mean_of,
    of_interval,
    of_summary,
    quotient,
)
from aferir.statistics.intervals import Interval
from aferir.statistics.summary import summarise


def test_a_sample_has_the_error_of_its_mean() -> None:
    found = of_summary(summarise([9.0, 10.0, 11.0]))
    assert found is not None
    assert (found.value, found.freedom, found.n) == (10.0, 2, 3)
    assert found.error == pytest.approx(1 / math.sqrt(3))
    interval = found.interval(0.95)
    assert interval is not None
    assert interval.low == pytest.approx(10 - 4.302653 / math.sqrt(3), rel=1e-6)


def test_too_few_values_have_no_error_or_no_estimate() -> None:
    one = of_summary(summarise([5.0]))
    assert one is not None
    assert one.error is None
    assert one.interval(0.95) is None
    assert of_summary(summarise([])) is None


def test_errors_of_a_quotient_and_a_difference_are_propagated() -> None:
    """3 % and 4 % make 5 %; 3 and 4 make 5."""
    above = Estimate(value=200.0, error=6.0, freedom=9, n=10)
    below = Estimate(value=100.0, error=4.0, freedom=9, n=12)
    ratio = quotient(above, below)
    assert (ratio.value, ratio.n) == (2.0, 10)
    assert ratio.error == pytest.approx(0.1)
    less = difference(Estimate(value=7.0, error=3.0, freedom=5), Estimate(value=2.0, error=4.0))
    assert (less.value, less.error) == (5.0, 5.0)
    assert less.freedom == pytest.approx(25**2 / (9**2 / 5)), "Satterthwaite; one is exact"


def test_an_exact_value_adds_no_error_and_an_unknown_one_leaves_none() -> None:
    measured = Estimate(value=3.0, error=0.3, freedom=4, n=5)
    exact = quotient(measured, Estimate(value=2.0, error=0.0))
    assert exact.error == pytest.approx(0.15)
    assert exact.freedom == pytest.approx(4)
    assert quotient(Estimate(value=1.0, error=0.0), Estimate(value=2.0, error=0.0)).error == 0.0
    assert difference(measured, Estimate(value=2.0)).error is None


def test_the_interval_of_a_ratio_is_even_on_the_logarithm() -> None:
    found = Estimate(value=2.0, error=0.2).ratio_interval(0.95)
    assert found is not None
    assert found.low * found.high == pytest.approx(4.0)
    assert math.log(found.high / 2) == pytest.approx(0.1 * 1.959964, rel=1e-6)
    assert Estimate(value=-1.0, error=0.2).ratio_interval(0.95) is None


def test_an_interval_is_read_as_a_normal_error() -> None:
    found = of_interval(10.0, Interval(8.0, 12.0, 0.95, "order-statistics"), 9)
    assert found.error == pytest.approx(2 / 1.959964, rel=1e-6)
    assert of_interval(10.0, None, 2).error is None


def test_values_are_scaled_shifted_and_inverted_with_their_errors() -> None:
    one = Estimate(value=4.0, error=0.4)
    assert one.scaled(-50) == Estimate(value=-200.0, error=20.0)
    assert one.plus(1.0) == Estimate(value=5.0, error=0.4)
    assert one.inverse().value == 0.25
    assert one.inverse().error == pytest.approx(0.025)


def test_a_mean_of_different_things_has_the_error_of_their_scatter() -> None:
    found = mean_of([Estimate(value=v, error=0.0, n=5) for v in (1.0, 2.0, 3.0)])
    assert (found.value, found.n, found.freedom) == (2.0, 15, 2)
    assert found.error == pytest.approx(1 / math.sqrt(3))
    only = Estimate(value=1.0, error=0.5, n=5)
    assert mean_of([only]) is only
    with pytest.raises(ValueError, match="no estimate"):
        mean_of([])
