"""Fits a model of a server's power to measurements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import optimize

from aferir.power.base import PowerError
from aferir.power.model import PowerModel

LARGEST_BEND = 3.0


def fit(points: Sequence[tuple[float, float]]) -> PowerModel:
    """Fit a model through (utilisation, watts), with a bend if there are three utilisations.

    Errors: PowerError if the utilisations are too few or too close, or power falls with
    utilisation.
    """
    used = np.asarray([u for u, _ in points], dtype=float)
    watts = np.asarray([w for _, w in points], dtype=float)
    levels = len({round(float(u), 1) for u in used})
    if len(points) < 2 or np.ptp(used) < 0.2:
        raise PowerError(
            "a model takes a busy and an idle server",
            remedy="calibrate while nothing else runs on it",
        )

    def solve(bend: float | None) -> tuple[PowerModel, float]:
        shape = used if bend is None else 2 * used - used**bend
        basis = np.stack([np.ones_like(used), shape], axis=1)
        found = np.linalg.lstsq(basis, watts, rcond=None)[0]
        left = float(np.sqrt(np.mean((basis @ found - watts) ** 2)))
        idle, span = float(found[0]), float(found[1])
        return PowerModel(peak_w=idle + span, idle_w=idle, bend=bend, error_w=left), left

    model, left = solve(None)
    if levels >= 3:
        best = optimize.minimize_scalar(
            lambda bend: solve(float(bend))[1], bounds=(1.01, LARGEST_BEND), method="bounded"
        )
        bent, left_bent = solve(float(best.x))
        model = bent if left_bent < left else model
    if not 0 <= model.idle_w < model.peak_w:
        raise PowerError(
            f"power does not rise with use: {model.idle_w:.1f} W idle, {model.peak_w:.1f} W busy",
            remedy="does the source measure this machine?",
        )
    return model
