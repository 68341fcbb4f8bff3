"""Tests of two samples, with the choice of test and its reason in the result."""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np
from scipy import stats

from aferir.model.record import Warning
from aferir.statistics.arrays import Array, Values, finite, paired_log_ratios
from aferir.statistics.checks import normality
from aferir.statistics.effect import a12, cliffs_delta, hedges_g
from aferir.statistics.student import student, welch

Test = Literal["welch-t", "mann-whitney"]
PairedTest = Literal["paired-t", "wilcoxon", "sign-flip"]
RANK_MINIMUM = 5
"""With four and four samples Mann-Whitney cannot go below p = 0.028."""
SIGNED_RANK_MINIMUM = 8
"""With seven pairs Wilcoxon cannot go below p = 0.0156."""
EXACT_FLIPS = 14
"""Up to here all 2^n sign changes are gone through."""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """One test of two samples; p value and statistic are None where there are too few."""

    test: str
    reason: str
    """Why this test."""
    statistic: float | None
    p_value: float | None
    n: int
    n_baseline: int
    hedges_g: float | None
    cliffs_delta: float | None
    a12: float | None
    warnings: tuple[Warning, ...] = ()


def compare(values: Values, baseline: Values, *, test: Test | None = None) -> Comparison:
    """Two independent samples: Welch's t where both look normal, else Mann-Whitney.

    A caller who knows better states `test`. With fewer than 5 samples on a side ranks cannot
    show anything and Welch's t is taken, normality unchecked.
    """
    a, warnings_a = finite(values)
    b, warnings_b = finite(baseline)
    warnings = (*warnings_a, *warnings_b)
    chosen, reason = (test, "stated by the caller") if test else _choose(a, b)
    statistic = p_value = None
    if min(a.size, b.size) < 2:
        warnings = (*warnings, _too_few(min(a.size, b.size)))
    elif np.ptp(np.concatenate([a, b])) == 0:
        statistic, p_value = 0.0, 1.0
    elif chosen == "mann-whitney":
        result = stats.mannwhitneyu(a, b, alternative="two-sided")
        statistic, p_value = float(result.statistic), float(result.pvalue)
    else:
        statistic, p_value = welch(a, b)
    return _comparison((chosen, reason), (statistic, p_value), a, b, warnings)


def compare_paired(
    values: Values, baseline: Values, *, test: PairedTest | None = None, seed: int = 0
) -> Comparison:
    """Samples measured side by side, compared by their log-ratios.

    Student's t where the log-ratios look normal, else Wilcoxon's signed-rank test from 8
    pairs; `sign-flip` is the permutation test of their median (`seed` matters above n = 14).
    Errors: ValueError where the lengths differ.
    """
    logs, warnings = paired_log_ratios(values, baseline)
    chosen, reason = (test, "stated by the caller") if test else _choose_paired(logs)
    statistic = p_value = None
    if logs.size < 2:
        warnings = (*warnings, _too_few(logs.size))
    elif not logs.any():
        statistic, p_value = 0.0, 1.0
    elif chosen == "wilcoxon":
        # Pratt keeps pairs without a difference in the ranking (Pratt 1959).
        result = stats.wilcoxon(logs, zero_method="pratt")
        statistic, p_value = float(result.statistic), float(result.pvalue)
    elif chosen == "sign-flip":
        statistic, p_value = float(np.median(logs)), sign_flip_p(logs, seed=seed)
    else:
        statistic, p_value = student(logs)
    a, _ = finite(values)
    b, _ = finite(baseline)
    return _comparison((chosen, reason), (statistic, p_value), a, b, warnings)


def sign_flip_p(differences: Values, *, seed: int = 0, draws: int = 20_000) -> float:
    """Two-sided p value that `differences` lie symmetrically about zero, by their median.

    Exact up to n = 14, else from `draws` random sign changes, the observed one counted in
    (Phipson and Smyth 2010), so that it is never zero.
    """
    array, _ = finite(differences)
    n = array.size
    if n == 0:
        return 1.0
    exact = n <= EXACT_FLIPS
    if exact:
        signs = 1.0 - 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
    else:
        signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=(draws, n))
    observed = abs(float(np.median(array)))
    flipped = np.abs(np.median(signs * array, axis=1))
    extreme = int((flipped >= observed * (1 - 1e-12)).sum())
    return extreme / 2**n if exact else (extreme + 1) / (draws + 1)


def _choose(a: Array, b: Array) -> tuple[Test, str]:
    least = min(a.size, b.size)
    if least < RANK_MINIMUM:
        return "welch-t", f"n = {least} on one side is too few for ranks; normality unchecked"
    p_values = [p for p in (normality(a).p_value, normality(b).p_value) if p is not None]
    if len(p_values) < 2:
        return "mann-whitney", "normality cannot be checked"
    smaller = min(p_values)
    if smaller < 0.05:
        return "mann-whitney", f"not normal (Shapiro-Wilk p = {smaller:.2g})"
    return "welch-t", f"normality not rejected (Shapiro-Wilk p = {smaller:.2g})"


def _choose_paired(logs: Array) -> tuple[PairedTest, str]:
    if logs.size < SIGNED_RANK_MINIMUM:
        return "paired-t", f"{logs.size} pairs are too few for ranks; normality unchecked"
    p_value = normality(logs).p_value
    if p_value is None:
        return "wilcoxon", "normality cannot be checked"
    if p_value < 0.05:
        return "wilcoxon", f"log-ratios not normal (Shapiro-Wilk p = {p_value:.2g})"
    return "paired-t", f"normality of log-ratios not rejected (Shapiro-Wilk p = {p_value:.2g})"


def _comparison(
    choice: tuple[str, str],
    outcome: tuple[float | None, float | None],
    a: Array,
    b: Array,
    warnings: tuple[Warning, ...],
) -> Comparison:
    return Comparison(
        test=choice[0],
        reason=choice[1],
        statistic=outcome[0],
        p_value=outcome[1],
        n=a.size,
        n_baseline=b.size,
        hedges_g=hedges_g(a, b),
        cliffs_delta=cliffs_delta(a, b),
        a12=a12(a, b),
        warnings=warnings,
    )


def _too_few(n: int) -> Warning:
    return Warning("too-few", f"n = {n} is too few for a test", "repeat at least 8 times")
