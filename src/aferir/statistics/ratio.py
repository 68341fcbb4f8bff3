"""Ratios of two environments' samples, with their intervals.

The default works on logarithms, where a ratio is a difference: swapping the two sides inverts
the estimate and the interval exactly, and noise that multiplies (another load, a lower
frequency) becomes noise that adds.
"""

from __future__ import annotations

import math
from typing import Literal

import msgspec
import numpy as np
from scipy import special

from aferir.model.record import Warning
from aferir.statistics.arrays import Array, Values, finite, paired_log_ratios, positive_logs
from aferir.statistics.intervals import BOOTSTRAP_MINIMUM, Interval, around
from aferir.statistics.robust import Location, locate
from aferir.statistics.student import satterthwaite, two_sided, welch

Statistic = Literal["mean", "median"]


class Ratio(msgspec.Struct, frozen=True, kw_only=True):
    """values / baseline; 1.02 says that `values` are 2 % larger."""

    estimate: float | None
    """None where one side has no usable sample."""
    interval: Interval | None
    """None where there are too few samples for one."""
    p_value: float | None
    """Of the hypothesis that the ratio is 1."""
    n: int
    """Samples of `values`; where paired, pairs."""
    n_baseline: int
    paired: bool
    method: str
    log_error: float | None = None
    """Standard error of ln(estimate), for combining ratios and for equivalence."""
    freedom: float | None = None
    ignored: int = 0
    """Samples or pairs so far off that they weigh nothing."""
    warnings: tuple[Warning, ...] = ()


def paired_ratio(values: Values, baseline: Values, *, level: float = 0.95) -> Ratio:
    """Robust ratio of samples measured side by side: values[k] just before or after baseline[k].

    Biweight location of the log-ratios (`aferir.statistics.robust`), so that drift which hits
    both sides of a pair cancels and a spoilt pair does not count; the mean below n = 8.
    Errors: ValueError where the lengths differ.
    """
    logs, warnings = paired_log_ratios(values, baseline)
    place = locate(logs)
    if place is None:
        return _no_interval(logs, logs.size, paired=True, warnings=warnings)
    return _from_location(place, level, n_baseline=place.n, paired=True, warnings=warnings)


def unpaired_ratio(values: Values, baseline: Values, *, level: float = 0.95) -> Ratio:
    """Robust ratio of two independent samples: difference of locations of their logarithms.

    The errors add as in Welch's test, degrees of freedom after Satterthwaite 1946.
    """
    above, warnings_above = positive_logs(values)
    below, warnings_below = positive_logs(baseline)
    warnings = (*warnings_above, *warnings_below)
    a, b = locate(above), locate(below)
    if a is None or b is None:
        both = above.size and below.size
        logs = np.array([above.mean() - below.mean()]) if both else np.empty(0)
        ratio = _no_interval(logs, below.size, paired=False, warnings=warnings)
        return msgspec.structs.replace(ratio, n=above.size)
    squares = a.error**2, b.error**2
    method = a.method if a.method == b.method else f"{a.method}/{b.method}"
    difference = Location(
        a.centre - b.centre,
        math.sqrt(sum(squares)),
        satterthwaite(squares, (a.freedom, b.freedom)),
        method,
        a.n,
        a.ignored + b.ignored,
    )
    return _from_location(difference, level, n_baseline=b.n, paired=False, warnings=warnings)


def at_level(ratio: Ratio, level: float) -> Interval | None:
    """The same ratio's interval at another level; None where it has none."""
    if ratio.estimate is None or ratio.log_error is None or ratio.freedom is None:
        return None
    logs = around(math.log(ratio.estimate), ratio.log_error, ratio.freedom, level, ratio.method)
    return Interval(math.exp(logs.low), _exp(logs.high), level, ratio.method)


def fieller_ratio(values: Values, baseline: Values, *, level: float = 0.95) -> Ratio:
    """Ratio of means of two independent samples with Fieller's interval (Fieller 1954).

    No interval where the baseline's mean is not clearly away from zero (the set of ratios is
    then unbounded), or n < 2. Not robust: for values without outliers. Variances may differ
    (Satterthwaite's degrees of freedom, taken at the estimate).
    """
    a, warnings_a = finite(values)
    b, warnings_b = finite(baseline)
    warnings = (*warnings_a, *warnings_b)
    estimate = float(a.mean() / b.mean()) if a.size and b.size and b.mean() != 0 else None
    interval = None
    if estimate is not None and a.size >= 2 and b.size >= 2:
        interval = _fieller(a, b, estimate, level)
    p_value = welch(a, b)[1] if interval is not None else None
    return Ratio(
        estimate=estimate,
        interval=interval,
        p_value=p_value,
        n=a.size,
        n_baseline=b.size,
        paired=False,
        method="fieller",
        warnings=warnings,
    )


def bootstrap_ratio(
    values: Values,
    baseline: Values,
    *,
    statistic: Statistic = "mean",
    level: float = 0.95,
    seed: int = 0,
    resamples: int = 5000,
) -> Ratio:
    """Ratio of means or medians of two independent samples, percentile bootstrap, seeded.

    Errors: none; no interval where either n < 5. It gives no p value.
    """
    a, warnings_a = positive_logs(values)
    b, warnings_b = positive_logs(baseline)
    a, b = np.exp(a), np.exp(b)
    function = np.mean if statistic == "mean" else np.median
    estimate = float(function(a) / function(b)) if a.size and b.size else None
    interval = None
    if min(a.size, b.size) >= BOOTSTRAP_MINIMUM:
        rng = np.random.default_rng(seed)
        above = function(a[rng.integers(0, a.size, (resamples, a.size))], axis=1)
        below = function(b[rng.integers(0, b.size, (resamples, b.size))], axis=1)
        low, high = np.quantile(above / below, [(1 - level) / 2, (1 + level) / 2])
        interval = Interval(float(low), float(high), level, "bootstrap")
    return Ratio(
        estimate=estimate,
        interval=interval,
        p_value=None,
        n=a.size,
        n_baseline=b.size,
        paired=False,
        method=f"bootstrap-{statistic}",
        warnings=(*warnings_a, *warnings_b),
    )


def _fieller(a: Array, b: Array, estimate: float, level: float) -> Interval | None:
    mean_a, mean_b = float(a.mean()), float(b.mean())
    var_a = float(a.var(ddof=1)) / a.size
    var_b = float(b.var(ddof=1)) / b.size
    parts = var_a, estimate**2 * var_b
    if sum(parts) == 0:
        return Interval(estimate, estimate, level, "fieller")
    freedom = satterthwaite(parts, (a.size - 1, b.size - 1))
    t = float(special.stdtrit(freedom, (1 + level) / 2))
    # Roots in r of (mean_a - r mean_b)^2 = t^2 (var_a + r^2 var_b).
    square = mean_b**2 - t**2 * var_b
    if square <= 0:
        return None
    root = math.sqrt((mean_a * mean_b) ** 2 - square * (mean_a**2 - t**2 * var_a))
    low, high = (mean_a * mean_b - root) / square, (mean_a * mean_b + root) / square
    return Interval(low, high, level, "fieller")


def _from_location(
    place: Location,
    level: float,
    *,
    n_baseline: int,
    paired: bool,
    warnings: tuple[Warning, ...],
) -> Ratio:
    p_value = two_sided(place.centre, place.error, place.freedom)[1]
    if place.error == 0:
        warnings = (*warnings, _constant())
    method = f"{place.method} of {'paired ' if paired else ''}log-ratios"
    logs = around(place.centre, place.error, place.freedom, level, method)
    return Ratio(
        estimate=math.exp(place.centre),
        interval=Interval(math.exp(logs.low), _exp(logs.high), level, method),
        p_value=p_value,
        n=place.n,
        n_baseline=n_baseline,
        paired=paired,
        method=method,
        log_error=place.error,
        freedom=place.freedom,
        ignored=place.ignored,
        warnings=warnings,
    )


def _exp(x: float) -> float:
    """Two pairs that disagree wildly give an upper end beyond the largest number."""
    return math.exp(x) if x < 709 else math.inf


def _no_interval(
    logs: Array, n_baseline: int, *, paired: bool, warnings: tuple[Warning, ...]
) -> Ratio:
    few = Warning(
        "too-few",
        f"a ratio from {logs.size} pair{'s' if logs.size != 1 else ''} has no interval"
        if paired
        else "a ratio needs two samples on each side for an interval",
        "repeat at least 8 times",
    )
    return Ratio(
        estimate=math.exp(float(logs[0])) if logs.size else None,
        interval=None,
        p_value=None,
        n=logs.size,
        n_baseline=n_baseline,
        paired=paired,
        method="none",
        warnings=(*warnings, few),
    )


def _constant() -> Warning:
    return Warning(
        "constant",
        "the samples do not vary at all, so the interval has no width",
        "check that the metric is measured, not configured, and its resolution",
    )
