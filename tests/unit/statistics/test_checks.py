from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import kendalltau, norm, shapiro

from aferir.statistics.checks import (
    all_warnings,
    autocorrelation,
    drift,
    normality,
    outliers,
)


def test_outliers_by_hand() -> None:
    # Median 10, absolute deviations 0 1 1 2 90 (sorted), their median 1:
    # 0.6745 * 90 / 1 = 60.7 is above 3.5, 0.6745 * 2 is not.
    found = outliers([9.0, 10.0, 11.0, 12.0, 100.0, 8.0, 10.0])
    assert found.indices == (4,)
    assert found.slow == 1
    assert found.warnings[0].code == "outliers"
    assert "1 of 7 samples lies" in found.warnings[0].message


def test_outliers_where_most_samples_are_alike() -> None:
    assert outliers([5.0] * 9 + [6.0]).indices == (9,)
    assert outliers([5.0] * 9).indices == ()
    assert outliers([1.0, 2.0, 50.0]).indices == ()


def test_autocorrelation_by_hand() -> None:
    # +1, -1, +1 ... of length 10: centred products of neighbours are all -1: r = -9 / 10.
    found = autocorrelation([1.0, -1.0] * 5)
    assert found.lag_1 == pytest.approx(-0.9)
    assert found.bound == pytest.approx(2.5758 / math.sqrt(10), rel=1e-4)
    assert [w.code for w in found.warnings] == ["autocorrelated"]
    assert "r = -0.90 at lag 1" in found.warnings[0].message
    assert autocorrelation([1.0, 2.0, 3.0]).lag_1 is None


def test_what_returns_after_some_repetitions_is_told_with_their_number() -> None:
    (warning,) = autocorrelation([math.cos(math.pi * k / 4) for k in range(40)]).warnings
    assert "at lag 4" in warning.message


def test_normality_states_its_limits() -> None:
    assert normality([1.0, 2.0]).p_value is None
    few = normality([1.0, 2.0, 4.0, 3.0])
    assert few.p_value is not None
    assert few.normal is None
    assert normality(norm.ppf((np.arange(30) + 0.5) / 30)).normal is True
    skewed = normality(np.random.default_rng(1).lognormal(0, 1.5, 30))
    assert skewed.normal is False
    assert skewed.warnings[0].code == "not-normal"
    assert normality(np.zeros(20)).p_value is None
    assert normality(np.random.default_rng(1).normal(0, 1, 6000)).p_value is None


@pytest.mark.parametrize("n", [3, 4, 5, 6, 7, 11, 12, 13, 100, 5000])
@pytest.mark.parametrize("shape", ["normal", "exponential", "uniform", "ties"])
def test_normality_is_that_of_shapiro_and_wilk(n: int, shape: str) -> None:
    rng = np.random.default_rng(n)
    of = {
        "normal": rng.normal(10, 2, n),
        "exponential": rng.exponential(1, n),
        "uniform": rng.uniform(-1, 1, n),
        "ties": np.append(rng.integers(0, 3, n - 1), 4.0),
    }
    known = shapiro(of[shape]).pvalue  # by quantiles of seven digits (AS 241)
    assert normality(of[shape]).p_value == pytest.approx(known, rel=1e-5, abs=1e-15)
    # Evenly spaced, three samples are as normal as can be.
    assert normality([1.0, 2.0, 3.0]).p_value == pytest.approx(1)
    assert normality([1.0, 1.0, 1e300]).p_value == pytest.approx(0, abs=1e-7)


@pytest.mark.parametrize("n", [10, 11, 33, 34, 100])
@pytest.mark.parametrize("ties", [False, True])
def test_drift_is_kendalls_tau(n: int, ties: bool) -> None:
    values = np.random.default_rng(n).normal(size=n)
    values = np.round(values, 0 if ties else 12)
    found, known = drift(values), kendalltau(np.arange(n), values)
    assert found.tau == pytest.approx(known.statistic)
    assert found.p_value == pytest.approx(known.pvalue)


def test_drift_says_which_way() -> None:
    rising = drift(np.linspace(1, 2, 12))
    assert rising.tau == pytest.approx(1.0)
    assert "rise" in rising.warnings[0].message
    assert "fall" in drift(np.linspace(2, 1, 12)).warnings[0].message
    assert drift([1.0] * 12).tau is None
    assert drift([1.0, 2.0, 3.0]).tau is None


def test_independent_normal_samples_are_seldom_warned_about() -> None:
    """Three checks at 1 % and the outlier rule, which by chance takes 1 of 4 such samples."""
    rng = np.random.default_rng(2)
    counts = dict.fromkeys(("drift", "autocorrelated", "not-normal", "outliers"), 0)
    for _ in range(500):
        for warning in all_warnings(rng.normal(10, 1, 15)):
            counts[warning.code] += 1
    assert counts["drift"] / 500 <= 0.025
    assert counts["autocorrelated"] / 500 <= 0.035
    assert counts["not-normal"] / 500 <= 0.025
    assert counts["outliers"] / 500 <= 0.25


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=30))
@example([0.0, 0.0, 1.0, 1.0, 2.225e-311])  # a score by a deviation so small is infinite
def test_no_sample_breaks_a_check(values: list[float]) -> None:
    bounded = [v if not math.isfinite(v) else math.fmod(v, 1e9) for v in values]
    assert all(w.code and w.message for w in all_warnings(bounded))
