"""Tests of three samples and more: one for all together, then every pair."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Literal

import msgspec
import numpy as np
from scipy import stats

from aferir.statistics.arrays import Array, Values, finite
from aferir.statistics.checks import normality
from aferir.statistics.compare import Comparison, compare
from aferir.statistics.multiple import holm

GroupTest = Literal["welch-anova", "kruskal-wallis"]


class PairComparison(msgspec.Struct, frozen=True):
    """`first` against `second`, adjusted for all pairs."""

    first: str
    second: str
    comparison: Comparison
    p_adjusted: float | None


class GroupComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Whether any of the samples differs, and which."""

    test: GroupTest
    reason: str
    statistic: float | None
    p_value: float | None
    n: dict[str, int]
    pairs: tuple[PairComparison, ...]


def compare_groups(
    samples: Mapping[str, Values], *, test: GroupTest | None = None
) -> GroupComparison:
    """Welch's analysis of variance where all look normal, else Kruskal-Wallis; pairs by Holm.

    Samples with n < 2 take part in no test of all together; statistic and p value are None
    where fewer than two samples are left.
    """
    arrays = {name: finite(values)[0] for name, values in samples.items()}
    usable = [array for array in arrays.values() if array.size >= 2]
    chosen, reason = (test, "stated by the caller") if test else _choose(usable)
    if chosen == "welch-anova" and any(np.ptp(array) == 0 for array in usable):
        chosen, reason = "kruskal-wallis", "one sample does not vary, which Welch's test needs"
    statistic = p_value = None
    if len(usable) >= 2:
        statistic, p_value = _run(chosen, usable)
    pairs = [(a, b, compare(arrays[a], arrays[b])) for a, b in combinations(arrays, 2)]
    tested = [c.p_value for _, _, c in pairs if c.p_value is not None]
    adjusted = iter(holm(tested))
    return GroupComparison(
        test=chosen,
        reason=reason,
        statistic=statistic,
        p_value=p_value,
        n={name: array.size for name, array in arrays.items()},
        pairs=tuple(
            PairComparison(a, b, c, next(adjusted) if c.p_value is not None else None)
            for a, b, c in pairs
        ),
    )


def welch_anova(arrays: list[Array]) -> tuple[float, float]:
    """F and p value of Welch 1951: equal means, whatever the variances (none may be zero)."""
    k = len(arrays)
    n = np.array([array.size for array in arrays], dtype=np.float64)
    means = np.array([array.mean() for array in arrays])
    weights = n / np.array([array.var(ddof=1) for array in arrays])
    shares = weights / weights.sum()
    between = float((weights * (means - (shares * means).sum()) ** 2).sum()) / (k - 1)
    lost = float(((1 - shares) ** 2 / (n - 1)).sum())
    f = between / (1 + 2 * (k - 2) / (k**2 - 1) * lost)
    return f, float(stats.f.sf(f, k - 1, (k**2 - 1) / (3 * lost)))


def _run(test: GroupTest, arrays: list[Array]) -> tuple[float, float]:
    if np.ptp(np.concatenate(arrays)) == 0:
        return 0.0, 1.0
    if test == "welch-anova":
        return welch_anova(arrays)
    result = stats.kruskal(*arrays)
    return float(result.statistic), float(result.pvalue)


def _choose(arrays: list[Array]) -> tuple[GroupTest, str]:
    for array in arrays:
        p_value = normality(array).p_value
        if p_value is None:
            return "kruskal-wallis", f"normality cannot be checked at n = {array.size}"
        if p_value < 0.05:
            return "kruskal-wallis", f"one sample is not normal (Shapiro-Wilk p = {p_value:.2g})"
    return "welch-anova", "normality not rejected in any sample"
