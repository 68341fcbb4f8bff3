"""How much neighbouring repetitions resemble each other, and what that leaves of n.

An interval of n samples takes them as independent. If each resembles the one before (lag-1
correlation rho), they are worth only n (1 - rho) / (1 + rho) samples (Bartlett 1935, of a
first-order autoregression).
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from aferir.model.record import Warning
from aferir.statistics.arrays import Array, quantile
from aferir.statistics.tails import two_sided

MINIMUM = 5
"""Below it nothing can be said about the order."""
SUSPECTED = 1.6449
"""Standard deviations above independence with which a warning is given: 5 %, one-sided."""
CERTAIN = 2.5758
"""And with which the interval is widened: 0.5 %, since independent samples pay for each false one
with power."""
NORMAL_99 = 2.3263
LARGEST = 0.98
BEYOND_DOUBT = 0.03
"""P value that a difference has to keep at the largest correlation that is not excluded."""
CLIP = 3.0
"""Deviations beyond so many median deviations count as that many: one spike hides no trend."""


class Dependence(msgspec.Struct, frozen=True):
    """Lag-1 correlation of one sample in the order of measurement."""

    lag_1: float
    """Corrected for its bias in few samples (Kendall 1954), not below 0."""
    upper: float
    """One-sided 99 % confidence limit: what the samples do not exclude."""
    score: float
    """Standard deviations above what independent samples show."""

    @property
    def suspected(self) -> bool:
        """More than chance at 5 %."""
        return self.score > SUSPECTED

    @property
    def certain(self) -> bool:
        """More than chance at 0.5 %."""
        return self.score > CERTAIN

    def worth(self, n: float) -> float:
        """Number of independent samples that n of these are worth; n where it is not certain."""
        return n * _share(self.lag_1) if self.certain else n


NOTHING = Dependence(0.0, 0.0, 0.0)


def dependence(array: Array) -> Dependence:
    """Of samples in their order; `NOTHING` below n = 5 and where more than half are alike."""
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
    """Where neighbours resemble each other; or only might, and a difference depends on it.

    `score`: a centre over its error that was called a difference; None where none was.
    """
    advice = "spread the repetitions over more time, repeat more often, or repeat the whole run"
    if found.suspected:
        then = (
            f"{n} of them are worth {found.worth(n):.1f} independent ones, and the interval is "
            "that much wider"
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


def _share(rho: float) -> float:
    return (1 - rho) / (1 + rho)
