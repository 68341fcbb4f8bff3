from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.statistics.ratio import Ratio, paired_ratio
from aferir.statistics.verdict import Rule, decide, equivalence


def ratio(estimate: float, error: float, *, freedom: float = 9.0, p_value: float = 0.5) -> Ratio:
    return Ratio(
        estimate=estimate,
        interval=None,
        p_value=p_value,
        n=10,
        n_baseline=10,
        paired=True,
        method="given",
        log_error=error,
        freedom=freedom,
    )


def test_equivalence_by_hand() -> None:
    # ln 1.03 = 0.0295588, ln 1.01 = 0.0099503: distance 0.0196085, in errors of 0.01: 1.96085.
    # P(T(9) > 1.96085) = 0.04081.
    assert equivalence(ratio(1.01, 0.01), 0.03) == pytest.approx(0.0408, abs=2e-4)
    # At the margin itself the two one-sided tests have p = 1/2, beyond it more.
    assert equivalence(ratio(1.03, 0.01), 0.03) == pytest.approx(0.5)
    beyond = equivalence(ratio(1.05, 0.01), 0.03)
    assert beyond is not None
    assert beyond > 0.5


def test_each_outcome() -> None:
    assert decide(ratio(1.10, 0.01, p_value=1e-5)).outcome == "higher"
    assert decide(ratio(0.90, 0.01, p_value=1e-5)).outcome == "lower"
    assert decide(ratio(1.002, 0.002)).outcome == "alike"
    assert decide(ratio(1.05, 0.10)).outcome == "undecided"
    assert decide(paired_ratio([1.0], [1.0])).outcome == "unknown"


def test_significant_but_too_small_to_matter() -> None:
    verdict = decide(ratio(1.005, 0.0005, p_value=1e-6))
    assert verdict.significant
    assert not verdict.practically_different
    assert verdict.outcome == "alike"


def test_the_family_counts() -> None:
    alone = ratio(1.10, 0.02, p_value=0.008)
    assert decide(alone).outcome == "higher"
    assert decide(alone, p_adjusted=0.08).outcome == "undecided"
    assert decide(alone, Rule(alpha=0.001)).outcome == "undecided"


def test_the_threshold_is_the_callers() -> None:
    small = ratio(1.03, 0.001, p_value=1e-6)
    assert decide(small, Rule(threshold=0.05, margin=0.05)).outcome == "alike"
    assert decide(small, Rule(threshold=0.01)).outcome == "higher"


def test_the_bound_is_the_farther_end() -> None:
    rng = np.random.default_rng(1)
    result = paired_ratio(rng.lognormal(-0.02, 0.01, 12), rng.lognormal(0, 0.01, 12))
    verdict = decide(result)
    assert result.interval is not None
    assert verdict.bound == pytest.approx(1 / result.interval.low - 1)


@given(st.floats(0.5, 2.0), st.floats(0.0001, 0.5), st.floats(0.0, 1.0))
def test_swapping_the_sides_mirrors_the_verdict(
    estimate: float, error: float, p_value: float
) -> None:
    mirror = {"higher": "lower", "lower": "higher"}
    one = decide(ratio(estimate, error, p_value=p_value))
    other = decide(ratio(1 / estimate, error, p_value=p_value))
    # 1.01 and 1/1.01 lie on the same side of the threshold but for rounding.
    if not math.isclose(abs(math.log(estimate)), math.log(1.01), rel_tol=1e-9):
        assert other.outcome == mirror.get(one.outcome, one.outcome)
