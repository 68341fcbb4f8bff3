"""Correlation of neighbouring repetitions, and the effective sample size that it leaves.

The interval of n samples assumes that they are independent. If each is correlated with the one
before (lag-1 correlation rho), they are worth only n (1 - rho) / (1 + rho) independent samples
(Bartlett 1935, for a first-order autoregression).
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from aferir.model.record import Warning
from aferir.statistics.arrays import Array, quantile
from aferir.statistics.intervals import LEAST
from aferir.statistics.tails import two_sided

MINIMUM = 5
"""Smallest n for which a correlation is estimated."""
SUSPECTED = 1.6449
"""Number of standard deviations by which the correlation must exceed that of independent samples
for a warning: 5 %, one-sided.
"""
CERTAIN = 2.5758
"""Number of standard deviations by which the correlation must exceed that of independent samples
for the interval to be widened: 0.5 %, one-sided, since widening without need costs statistical
power.
"""
NORMAL_99 = 2.3263
LARGEST = 0.98
BEYOND_DOUBT = 0.03
"""P value of a difference above which a warning is issued; it is computed for the upper confidence
limit of the correlation.
"""
CLIP = 3.0
"""Deviations beyond this many median absolute deviations are clipped, so that one spike does not
hide a trend.
"""


class Dependence(msgspec.Struct, frozen=True):
    """Lag-1 correlation of one sample in the order of measurement."""

    lag_1: float
    """Estimate corrected for its bias in small samples (Kendall 1954), not below 0."""
    upper: float
    """One-sided 99 % confidence limit: larger correlations are excluded by the samples."""
    score: float
    """Standard deviations by which the correlation exceeds that of independent samples."""

    @property
    def suspected(self) -> bool:
        """True if the correlation is significant at 5 %."""
        return self.score > SUSPECTED

    @property
    def certain(self) -> bool:
        """True if the correlation is significant at 0.5 %."""
        return self.score > CERTAIN

    def worth(self, n: float) -> float:
        """Effective number of independent samples among n; n unless the dependence is `certain`."""
        return n * _share(self.lag_1) if self.certain else n


NOTHING = Dependence(0.0, 0.0, 0.0)


def dependence(array: Array) -> Dependence:
    """Dependence of samples in their order; `NOTHING` below n = 5 or if over half are equal."""
    n = array.size
    if n < MINIMUM:
        return NOTHING
    centred = array - quantile(np.sort(array).tolist(), 0.5)
    distances = np.sort(np.abs(centred)).tolist()
    spread = quantile(distances, 0.5)
    if spread <= 1e-9 * distances[-1]:
        return NOTHING
    clipped = np.clip(centred, -CLIP * spread, CLIP * spread)
    clipped = clipped - clipped.mean()
    power = float((clipped**2).sum())
    raw = float((clipped[1:] * clipped[:-1]).sum()) / power
    # Of independent samples: mean -1/n, variance (n - 2)^2 / (n^2 (n - 1)) (Moran 1948).
    deviation = (n - 2) / (n * math.sqrt(n - 1))
    corrected = min(max(raw + (1 + 3 * raw) / n, 0.0), LARGEST)
    upper = corrected + NORMAL_99 * math.sqrt((1 - corrected**2) / n)
    return Dependence(corrected, min(upper, LARGEST), (raw + 1 / n) / deviation)


def doubts(found: Dependence, n: int, what: str, score: float | None) -> tuple[Warning, ...]:
    """Warn if neighbours are correlated, or if they may be and a claimed difference depends on it.

    `score` is a reported difference over its standard error; None: no difference was reported.
    """
    advice = "spread the repetitions over more time, repeat more often, or repeat the whole run"
    if found.suspected:
        then = (
            f"{n} of them are worth {max(found.worth(n), 1.0):.1f} independent ones, "
            f"{_widened(found, n)}"
            if found.certain
            else "if that is no chance, the interval is too narrow"
        )
        message = f"neighbouring {what} resemble each other (lag-1 r = {found.lag_1:.2f}): {then}"
        return (Warning("autocorrelated", message, advice),)
    if score is None:
        return ()
    least = max(n * _share(found.upper), 1.5)
    if two_sided("t", least, score * math.sqrt(least / n)) <= BEYOND_DOUBT:
        return ()
    message = (
        f"the difference is one only if the {what} are independent: {n} of them do not exclude an "
        f"autocorrelation of r = {found.upper:.2f}, with which it would be in doubt"
    )
    return (Warning("autocorrelated", message, advice),)


def _widened(found: Dependence, n: int) -> str:
    enough = found.worth(n) >= LEAST
    return "and the interval is that much wider" if enough else "too few for an interval"


def _share(rho: float) -> float:
    return (1 - rho) / (1 + rho)
