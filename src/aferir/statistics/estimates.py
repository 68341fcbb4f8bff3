"""Estimates with a standard error, and quotients and differences of two of them.

Errors are propagated to first order, and degrees of freedom combined by Satterthwaite's formula
(JCGM 100:2008, 5.1 and G.4).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from aferir.statistics import distributions
from aferir.statistics.intervals import Interval
from aferir.statistics.student import satterthwaite
from aferir.statistics.summary import Summary

METHOD = "propagated error"


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """A value, its standard error in the same unit, and the sample that they come from."""

    value: float
    error: float | None = None
    """Standard error; None: unknown, 0: the value is exact."""
    freedom: float = math.inf
    """Degrees of freedom of the error."""
    n: int = 0
    """Number of repetitions; 0: unknown, or not a mean."""

    def scaled(self, factor: float) -> Estimate:
        """Product of the estimate and an exact number."""
        error = None if self.error is None else abs(self.error * factor)
        return msgspec.structs.replace(self, value=self.value * factor, error=error)

    def plus(self, exact: float) -> Estimate:
        """Sum of the estimate and an exact number."""
        return msgspec.structs.replace(self, value=self.value + exact)

    def inverse(self) -> Estimate:
        """Reciprocal of the estimate. Errors: ZeroDivisionError."""
        error = None if self.error is None else self.error / self.value**2
        return msgspec.structs.replace(self, value=1 / self.value, error=error)

    def interval(self, level: float) -> Interval | None:
        """Interval by Student's t; None if the error is unknown."""
        half = self._half(level)
        if half is None:
            return None
        return Interval(self.value - half, self.value + half, level, METHOD)

    def ratio_interval(self, level: float) -> Interval | None:
        """Interval on the logarithm, for positive values; None if the error is unknown."""
        half = self._half(level)
        if half is None or self.value <= 0:
            return None
        factor = math.exp(min(half / self.value, 700.0))
        return Interval(self.value / factor, self.value * factor, level, METHOD)

    def _half(self, level: float) -> float | None:
        if self.error is None:
            return None
        if math.isinf(self.freedom):
            return distributions.normal_quantile((1 + level) / 2) * self.error
        return distributions.student_quantile(self.freedom, (1 + level) / 2) * self.error


def of_summary(summary: Summary) -> Estimate | None:
    """Mean of a sample; None for n = 0, and of unknown error for n = 1."""
    if summary.mean is None:
        return None
    if summary.sd is None:
        return Estimate(value=summary.mean, n=summary.n)
    error = summary.sd / math.sqrt(summary.n)
    return Estimate(value=summary.mean, error=error, freedom=summary.n - 1, n=summary.n)


def of_interval(value: float, interval: Interval | None, n: int) -> Estimate:
    """Estimate whose error is that of a normal distribution with this interval."""
    if interval is None:
        return Estimate(value=value, n=n)
    reach = distributions.normal_quantile((1 + interval.level) / 2)
    return Estimate(value=value, error=(interval.high - interval.low) / 2 / reach, n=n)


def quotient(above: Estimate, below: Estimate) -> Estimate:
    """Quotient of two independent estimates. Errors: ZeroDivisionError."""
    value = above.value / below.value
    errors = (
        None if above.error is None else above.error / below.value,
        None if below.error is None else value * below.error / below.value,
    )
    return _combined(value, errors, (above, below))


def difference(above: Estimate, below: Estimate) -> Estimate:
    """Difference of two independent estimates."""
    return _combined(above.value - below.value, (above.error, below.error), (above, below))


def mean_of(estimates: Sequence[Estimate]) -> Estimate:
    """Unweighted mean of estimates of different things, with the error of their scatter.

    Errors: ValueError if there is none.
    """
    if not estimates:
        raise ValueError("no estimate to average")
    values = np.array([one.value for one in estimates])
    mean, n = float(values.mean()), sum(one.n for one in estimates)
    if len(estimates) == 1:
        return estimates[0]
    error = float(values.std(ddof=1)) / math.sqrt(values.size)
    return Estimate(value=mean, error=error, freedom=values.size - 1, n=n)


def _combined(
    value: float, errors: tuple[float | None, float | None], parts: tuple[Estimate, Estimate]
) -> Estimate:
    n = min((one.n for one in parts if one.n), default=0)
    if errors[0] is None or errors[1] is None:
        return Estimate(value=value, n=n)
    squares = (errors[0] ** 2, errors[1] ** 2)
    if sum(squares) == 0:
        return Estimate(value=value, error=0.0, n=n)
    freedom = satterthwaite(squares, (parts[0].freedom, parts[1].freedom))
    return Estimate(value=value, error=math.sqrt(sum(squares)), freedom=freedom, n=n)
