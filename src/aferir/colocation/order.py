"""Order statistics: the ranks between which a quantile lies, for any distribution."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import accumulate

_NEGLIGIBLE = 1e-13


@lru_cache(maxsize=512)
def bounds_ranks(samples: int, share: float, confidence: float) -> tuple[int, int] | None:
    """Ranks, from 1, of the order statistics that enclose the quantile; None: too few samples.

    The number of samples at or below the true quantile is binomial. So, if X(k) is the k-th
    smallest sample, P(X(low) <= quantile <= X(high)) >= confidence, with half of the rest on either
    side (David and Nagaraja, Order Statistics, 2003, 7.1). None if not even the smallest and the
    largest sample enclose it. Errors: ValueError unless share and confidence are between 0 and 1.
    """
    if not (0 < share < 1 and 0 < confidence < 1):
        raise ValueError("a share and a confidence are between 0 and 1")
    rest = (1 - confidence) / 2
    # Otherwise not even the extremes enclose the quantile with that confidence.
    if samples < 1 or max(share**samples, (1 - share) ** samples) > rest:
        return None
    first, masses = _binomial(samples, share)
    at_most = list(accumulate(masses))
    at_least = list(accumulate(reversed(masses)))
    low = first + sum(1 for mass in at_most if mass <= rest)
    high = first + len(masses) - sum(1 for mass in at_least if mass <= rest)
    return max(low, 1), min(high, samples)


@lru_cache(maxsize=512)
def lower_rank(samples: int, share: float, confidence: float) -> int:
    """Rank of the lower bound alone, which needs fewer samples than both; 0: too few."""
    rest = (1 - confidence) / 2
    if samples < 1 or (1 - share) ** samples > rest:
        return 0
    first, masses = _binomial(samples, share)
    return first + sum(1 for mass in accumulate(masses) if mass <= rest)


def fewest(share: float, confidence: float) -> int:
    """Fewest samples that bound a quantile from above: 72 for a 95th percentile, 368 for a 99th.

    Errors: ValueError unless share and confidence are between 0 and 1.
    """
    if not (0 < share < 1 and 0 < confidence < 1):
        raise ValueError("a share and a confidence are between 0 and 1")
    return math.ceil(math.log((1 - confidence) / 2) / math.log(share))


def _binomial(samples: int, share: float) -> tuple[int, list[float]]:
    """Binomial probabilities that are not negligible, and the first one's number of successes."""
    mode = min(samples, int((samples + 1) * share))
    peak = math.exp(
        math.lgamma(samples + 1)
        - math.lgamma(mode + 1)
        - math.lgamma(samples - mode + 1)
        + mode * math.log(share)
        + (samples - mode) * math.log1p(-share)
    )
    odds = share / (1 - share)
    below: list[float] = []
    mass, count = peak, mode
    while count > 0 and mass > _NEGLIGIBLE:
        mass *= count / ((samples - count + 1) * odds)
        below.append(mass)
        count -= 1
    above: list[float] = []
    mass, last = peak, mode
    while last < samples and mass > _NEGLIGIBLE:
        mass *= (samples - last) * odds / (last + 1)
        above.append(mass)
        last += 1
    return count, [*reversed(below), peak, *above]
