"""The cost of stalled repetitions, which a robust centre must not hide."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from aferir.statistics.ratio import Ratio, paired_ratio
from aferir.statistics.stalls import Costs, find_stalls, fisher
from aferir.statistics.verdict import decide


def noisy(n: int, seed: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    drawn: np.ndarray[tuple[int], np.dtype[np.float64]]
    drawn = np.random.default_rng(seed).lognormal(0, 0.005, n)
    return drawn


def costs(ratio: Ratio) -> Costs:
    assert ratio.costs is not None
    return ratio.costs


def test_a_third_of_slow_repetitions_is_not_nothing() -> None:
    a, b = noisy(20, 1), noisy(20, 2)
    a[[1, 4, 7, 11, 14, 18]] *= 3
    ratio = paired_ratio(a, b)
    found = costs(ratio)
    assert (found.stalls.stalled, found.stalls_baseline.stalled) == (6, 0)
    assert found.stalls.factor == pytest.approx(3, rel=0.03)
    assert found.mean == pytest.approx(1.6, rel=0.02)
    assert found.mean_interval is not None
    assert found.mean_interval.low < 1.6 < found.mean_interval.high
    assert decide(ratio).outcome == "stalls"


def test_one_stall_is_enough_to_claim_no_equality() -> None:
    a, b = noisy(40, 3), noisy(40, 4)
    assert decide(paired_ratio(a, b)).outcome == "equivalent"
    a[5] *= 2
    assert decide(paired_ratio(a, b)).outcome == "alike"


def test_few_repetitions_cannot_exclude_stalls() -> None:
    # 0.9^28 = 5.2 %, 0.9^29 = 4.7 %: from 29 on, stalls in a tenth would have been seen.
    for n, outcome in ((28, "alike"), (29, "equivalent")):
        assert decide(paired_ratio(noisy(n, 5), noisy(n, 6))).outcome == outcome


def test_the_limit_of_the_share_by_hand() -> None:
    none = find_stalls(noisy(20, 7), scale=0.005)
    assert none.stalled == 0
    assert none.factor is None
    assert none.most == pytest.approx(1 - 0.05 ** (1 / 20))
    assert none.share.high == pytest.approx(1 - 0.025 ** (1 / 20))


def test_noise_is_no_stall() -> None:
    rng = np.random.default_rng(8)
    seen = [costs(paired_ratio(*rng.lognormal(0, 0.03, (2, 12)))) for _ in range(300)]
    assert sum(c.stalls.stalled > 0 for c in seen) <= 6


@pytest.mark.parametrize("table", [(6, 20, 0, 20), (1, 8, 1, 8), (3, 12, 8, 40), (0, 5, 0, 9)])
def test_fisher_agrees_with_scipy(table: tuple[int, int, int, int]) -> None:
    k, n, j, m = table
    expected = stats.fisher_exact(np.array([[k, n - k], [j, m - j]])).pvalue
    assert fisher(k, n, j, m) == pytest.approx(expected)


def test_the_upper_quantile_has_an_interval_where_n_allows() -> None:
    assert costs(paired_ratio(noisy(8, 9), noisy(8, 10))).upper_interval is None
    many = costs(paired_ratio(noisy(60, 11), noisy(60, 12)))
    assert many.upper_quantile == 0.9
    assert many.upper_interval is not None
    assert many.upper_interval.low < 1 < many.upper_interval.high


def test_a_barely_significant_difference_is_called_so() -> None:
    a, b = noisy(12, 13), noisy(12, 14)
    clear = decide(paired_ratio(1.1 * a, b))
    assert [w.code for w in clear.warnings if w.code == "exaggerated"] == []
    rng = np.random.default_rng(15)
    rough = [
        decide(paired_ratio(*(rng.lognormal(m, 0.1, 12) for m in (0.1, 0)))) for _ in range(60)
    ]
    claimed = [v for v in rough if v.outcome == "higher"]
    assert claimed
    for verdict in claimed:
        assert verdict.interval is not None
        assert verdict.ratio is not None
        certain = verdict.interval.low > verdict.ratio**0.5
        assert ("exaggerated" in [w.code for w in verdict.warnings]) is not certain


def test_the_factor_of_stalls_has_an_interval_from_two_on() -> None:
    a = noisy(20, 13)
    a[4] *= 2.5
    one = find_stalls(a, scale=0.005)
    assert one.factor == pytest.approx(2.5, rel=0.02)
    assert one.factor_interval is None
    # Logarithms of the stalled: ln 3 -+ ln 1.2; t(0.975, 1) = 12.7062 times their mean's error.
    flat = np.array([1.0] * 10 + [3.0 / 1.2, 3.0 * 1.2])
    two = find_stalls(flat, scale=0.005)
    assert two.factor == pytest.approx(3)
    assert two.factor_interval is not None
    assert two.factor_interval.high == pytest.approx(3 * 1.2**12.7062047, rel=1e-6)
    assert two.factor_interval.low == pytest.approx(3 / 1.2**12.7062047, rel=1e-6)


def test_the_interval_of_the_factor_covers() -> None:
    rng = np.random.default_rng(14)
    inside = []
    for _ in range(600):
        slow = np.where(rng.random(30) < 0.3, 3.0 * np.exp(0.2 * rng.normal(size=30)), 1.0)
        found = find_stalls(slow * np.exp(0.01 * rng.normal(size=30)), scale=0.01)
        if found.factor_interval is not None:
            inside.append(found.factor_interval.contains(3.0))
    assert len(inside) > 580
    assert 0.93 <= np.mean(inside) <= 0.97
