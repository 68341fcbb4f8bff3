"""Jain's index of fairness."""

from __future__ import annotations

import math
from collections.abc import Sequence


def jain(shares: Sequence[float]) -> float | None:
    """Jain's index: 1 if all n shares are equal, 1/n if one has everything.

    None if all shares are zero. Errors: ValueError for a share that is negative or not finite.
    Source: Jain, Chiu and Hawe, DEC Research Report TR-301 (1984).
    """
    if any(share < 0 or not math.isfinite(share) for share in shares):
        raise ValueError(f"not shares: {shares}")
    most = max(shares, default=0.0)
    if most == 0:
        return None
    scaled = [share / most for share in shares]
    return sum(scaled) ** 2 / (len(scaled) * sum(share**2 for share in scaled))
