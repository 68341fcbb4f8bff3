"""Descriptive statistics of one sample."""

from __future__ import annotations

import msgspec
import numpy as np

from aferir.model.record import Warning
from aferir.statistics.arrays import Values, finite, quantile
from aferir.statistics.checks import all_warnings
from aferir.statistics.intervals import (
    Interval,
    mean_interval,
    median_interval,
)


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """Statistics of one sample, in the sample's unit except `variation`.

    Everything except `n` is None if n = 0; spread and intervals also if n is too small.
    """

    n: int
    mean: float | None = None
    sd: float | None = None
    """Sample standard deviation, with n - 1."""
    variation: float | None = None
    """Coefficient of variation, sd / |mean|."""
    minimum: float | None = None
    quantile_05: float | None = None
    quantile_25: float | None = None
    median: float | None = None
    quantile_75: float | None = None
    quantile_95: float | None = None
    maximum: float | None = None
    mean_interval: Interval | None = None
    """Student's t interval; that of a quantity which cannot be negative is cut off at 0."""
    median_interval: Interval | None = None
    """Interval from order statistics; its level is the exact coverage."""
    warnings: tuple[Warning, ...] = ()


def summarise(values: Values, *, level: float = 0.95, signed: bool = True) -> Summary:
    """Describe samples in the order in which they were measured.

    `signed`: whether the quantity may be negative. If not, the interval of its mean is cut off at
    0, which leaves its coverage as it is. Quantiles interpolate linearly between order statistics
    (numpy's default, type 7 of Hyndman and Fan 1996). NaN and infinities are left out, with a
    warning.
    """
    array, _ = finite(values)
    warnings = all_warnings(values)
    if array.size == 0:
        return Summary(n=0, warnings=warnings)
    mean = float(np.mean(array))
    sd = float(np.std(array, ddof=1)) if array.size > 1 else None
    ordered = sorted(array.tolist())
    around = mean_interval(array, level=level)
    if around is not None and not signed:
        around = msgspec.structs.replace(around, low=max(around.low, min(ordered[0], 0.0)))
    q05, q25, q50, q75, q95 = (quantile(ordered, q) for q in (0.05, 0.25, 0.5, 0.75, 0.95))
    return Summary(
        n=array.size,
        mean=mean,
        sd=sd,
        variation=sd / abs(mean) if sd is not None and mean != 0 else None,
        minimum=ordered[0],
        quantile_05=q05,
        quantile_25=q25,
        median=q50,
        quantile_75=q75,
        quantile_95=q95,
        maximum=ordered[-1],
        mean_interval=around,
        median_interval=median_interval(array, level=level),
        warnings=warnings,
    )
