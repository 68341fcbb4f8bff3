from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from aferir.statistics.compare import compare, compare_paired, sign_flip_p
from aferir.statistics.effect import a12, cliffs_delta, hedges_g
from aferir.statistics.groups import compare_groups, welch_anova
from aferir.statistics.multiple import holm

samples = st.lists(st.floats(0.01, 1000.0), min_size=2, max_size=20)


def test_normal_samples_get_welch_and_its_figures_are_scipys() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(10, 1, 20), rng.normal(11, 3, 15)
    result = compare(a, b)
    expected = stats.ttest_ind(a, b, equal_var=False)
    assert result.test == "welch-t"
    assert "not rejected" in result.reason
    assert result.statistic == pytest.approx(expected.statistic)
    assert result.p_value == pytest.approx(expected.pvalue)


def test_skewed_samples_get_mann_whitney() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.lognormal(0, 1.5, 30), rng.lognormal(0.1, 1.5, 30)
    result = compare(a, b)
    assert result.test == "mann-whitney"
    assert "not normal" in result.reason
    assert result.p_value == pytest.approx(stats.mannwhitneyu(a, b).pvalue)


def test_a_caller_may_state_the_test() -> None:
    result = compare([1.0, 2.0, 3.0], [2.0, 3.0, 4.0], test="mann-whitney")
    assert (result.test, result.reason) == ("mann-whitney", "stated by the caller")


def test_paired_log_ratios_get_a_t_test() -> None:
    rng = np.random.default_rng(3)
    baseline = rng.lognormal(0, 0.5, 12)
    values = baseline * rng.lognormal(0.05, 0.02, 12)
    result = compare_paired(values, baseline)
    expected = stats.ttest_1samp(np.log(values / baseline), 0)
    assert result.test == "paired-t"
    assert result.p_value == pytest.approx(expected.pvalue)
    # The same samples taken as independent show nothing.
    unpaired = compare(values, baseline).p_value
    assert unpaired is not None
    assert unpaired > 0.3


def test_a_spike_makes_the_paired_test_signed_rank() -> None:
    baseline = np.ones(12)
    values = np.array([1.05, 1.04, 1.06, 1.05, 1.03, 1.05, 1.04, 1.07, 1.05, 1.02, 1.06, 3.0])
    result = compare_paired(values, baseline)
    assert result.test == "wilcoxon"
    # All twelve differences are positive: p = 2 / 2^12.
    assert result.p_value == pytest.approx(2 / 4096)


def test_sign_flip_by_hand() -> None:
    # The median 2 of (1, 2, 3) is reached or passed in absolute value only where the signs of
    # 2 and 3 agree: medians are 2, 2 (+++, -++) and -2, -2; else +-1. 4 of 8.
    assert sign_flip_p([1.0, 2.0, 3.0]) == 0.5
    assert sign_flip_p([]) == 1.0
    long = np.random.default_rng(4).normal(0.5, 1, 30)
    assert sign_flip_p(long, seed=1) == sign_flip_p(long, seed=1)
    assert sign_flip_p(long, seed=1) < 0.1


def test_sign_flip_is_available_for_pairs() -> None:
    result = compare_paired([1.1] * 3 + [1.2] * 7, [1.0] * 10, test="sign-flip")
    assert result.p_value is not None
    assert 0 < result.p_value < 1


@pytest.mark.parametrize(
    ("a", "b"), [([], []), ([1.0], [2.0]), ([], [1.0, 2.0]), ([1.0], [1.0, 2.0, 3.0])]
)
def test_too_few_samples_give_no_p_value(a: list[float], b: list[float]) -> None:
    result = compare(a, b)
    assert result.p_value is None
    assert [w.code for w in result.warnings] == ["too-few"]
    if len(a) == len(b):
        assert compare_paired(a, b).p_value is None


def test_constant_samples() -> None:
    assert compare([1.0] * 9, [1.0] * 9).p_value == 1.0
    assert compare([1.0] * 3, [2.0] * 3).p_value == 0.0
    assert compare_paired([1.0] * 9, [1.0] * 9).p_value == 1.0
    assert compare_paired([2.0] * 3, [1.0] * 3).p_value == 0.0


@given(samples, samples)
def test_comparing_never_fails_and_is_symmetric(a: list[float], b: list[float]) -> None:
    one, other = compare(a, b), compare(b, a)
    assert one.p_value == pytest.approx(other.p_value, abs=1e-9)
    assert one.cliffs_delta is not None
    assert other.cliffs_delta is not None
    assert one.cliffs_delta == -other.cliffs_delta


def test_effect_sizes_by_hand() -> None:
    # a = 2, 4; b = 1, 1: means 3 and 1; squares 2 + 0, 2 degrees of freedom, pooled sd 1;
    # d = 2; correction 1 - 3 / (4 * 2 - 1) = 4/7.
    assert hedges_g([2.0, 4.0], [1.0, 1.0]) == pytest.approx(2 * 4 / 7)
    # Of the four pairs (1,1) (1,2) (3,1) (3,2): two above, one below, one equal.
    assert cliffs_delta([1.0, 3.0], [1.0, 2.0]) == pytest.approx(1 / 4)
    assert a12([1.0, 3.0], [1.0, 2.0]) == pytest.approx(5 / 8)
    assert hedges_g([1.0], [1.0, 2.0]) is None
    assert hedges_g([1.0, 1.0], [1.0, 1.0]) == 0.0
    assert hedges_g([2.0, 2.0], [1.0, 1.0]) == math.inf
    assert a12([], [1.0]) is None


@given(samples, samples, st.floats(0.1, 10.0))
def test_effect_sizes_have_no_unit(a: list[float], b: list[float], factor: float) -> None:
    scaled_a, scaled_b = [factor * x for x in a], [factor * x for x in b]
    g, scaled = hedges_g(a, b), hedges_g(scaled_a, scaled_b)
    assert g is not None
    if math.isfinite(g) and abs(g) < 1e6:
        assert scaled == pytest.approx(g, rel=1e-4, abs=1e-6)


def test_holm_by_hand() -> None:
    # Sorted 0.01, 0.02, 0.03, 0.04 times 4, 3, 2, 1: 0.04, 0.06, 0.06, 0.04 -> made monotone.
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx((0.06, 0.04, 0.06, 0.06))
    assert holm([]) == ()
    assert holm([0.7]) == (0.7,)


@given(st.lists(st.floats(0.0, 1.0), max_size=30))
def test_holm_is_monotone_and_never_below_the_raw_value(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert all(a >= p for a, p in zip(adjusted, p_values, strict=True))
    assert all(a <= 1 for a in adjusted)
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    ordered = [adjusted[i] for i in order]
    assert ordered == sorted(ordered)
    if p_values:
        # Never milder than needed: the smallest is exactly Bonferroni's.
        assert min(adjusted) == pytest.approx(min(1.0, min(p_values) * len(p_values)))


def test_welch_anova_agrees_with_scipy() -> None:
    rng = np.random.default_rng(5)
    arrays = [rng.normal(10, 1, 12), rng.normal(10.5, 2, 9), rng.normal(11, 4, 15)]
    expected = stats.f_oneway(*arrays, equal_var=False)
    f, p_value = welch_anova(arrays)
    assert f == pytest.approx(expected.statistic)
    assert p_value == pytest.approx(expected.pvalue)


def test_groups_choose_and_adjust() -> None:
    rng = np.random.default_rng(6)
    result = compare_groups(
        {
            "native": rng.normal(10, 0.2, 15),
            "container": rng.normal(10.02, 0.2, 15),
            "vm": rng.normal(12, 0.3, 15),
        }
    )
    assert result.test == "welch-anova"
    assert result.p_value is not None
    assert result.p_value < 1e-6
    by_pair = {(pair.first, pair.second): pair for pair in result.pairs}
    equal, far = by_pair["native", "container"], by_pair["native", "vm"]
    assert equal.p_adjusted is not None
    assert far.p_adjusted is not None
    assert equal.p_adjusted > 0.05
    assert far.p_adjusted < 1e-6
    assert far.comparison.p_value is not None
    assert far.p_adjusted >= far.comparison.p_value


def test_groups_that_are_skewed_constant_or_empty() -> None:
    rng = np.random.default_rng(7)
    skewed = compare_groups({"a": rng.lognormal(0, 2, 30), "b": rng.lognormal(0, 2, 30)})
    assert skewed.test == "kruskal-wallis"
    constant = compare_groups({"a": [1.0] * 5, "b": [1.0] * 5}, test="welch-anova")
    assert (constant.test, constant.p_value) == ("kruskal-wallis", 1.0)
    empty = compare_groups({"a": [], "b": [1.0, 2.0, 3.0]})
    assert empty.p_value is None
    assert empty.pairs[0].p_adjusted is None
