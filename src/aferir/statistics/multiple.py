"""Adjustment of p values for multiple tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """P values after Holm's step-down adjustment (Holm 1979), in the order given.

    Rejecting if the adjusted value is <= alpha bounds the probability of any false rejection
    among all tests by alpha, whatever their dependence.
    """
    m = len(p_values)
    raw = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(raw, kind="stable")
    steps = np.minimum(raw[order] * (m - np.arange(m)), 1.0)
    adjusted = np.empty(m)
    adjusted[order] = np.maximum.accumulate(steps) if m else steps
    return tuple(adjusted.tolist())
