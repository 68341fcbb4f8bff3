from __future__ import annotations

import numpy as np
import pytest

from aferir.statistics.arrays import Array
from aferir.statistics.contrasts import Contrast, contrast, locate_arms
from aferir.statistics.factorial import fraction, main_weights

RUNS = fraction(4)
EFFECTS = (0.10, 0.0, 0.02, -0.03)


def logs(rng: np.random.Generator, rounds: int, spread: float) -> Array:
    truth = [sum(e * (x > 0) for e, x in zip(EFFECTS, run, strict=True)) for run in RUNS]
    drift = np.cumsum(rng.normal(0, 0.2, rounds))
    return np.array(truth)[:, None] + drift[None, :] + rng.normal(0, spread, (len(RUNS), rounds))


def effect(values: Array, factor: int) -> Contrast:
    arms = locate_arms(values)
    assert arms is not None
    return contrast(arms, main_weights(RUNS, factor))


def test_without_noise_the_effects_are_exact_whatever_rounds_do() -> None:
    values = logs(np.random.default_rng(1), 6, 0.0)
    for factor, planted in enumerate(EFFECTS):
        assert effect(values, factor).estimate == pytest.approx(planted, abs=1e-12)


def test_intervals_hold_for_all_effects_together() -> None:
    rng = np.random.default_rng(2)
    held = claimed = 0
    for _ in range(150):
        values = logs(rng, 8, 0.02)
        found = [effect(values, factor) for factor in range(4)]
        inside = [
            one.interval(0.95, 4).contains(planted)
            for one, planted in zip(found, EFFECTS, strict=True)
        ]
        held += all(inside)
        claimed += found[1].p_value(4) <= 0.001
    assert held >= 136
    assert claimed <= 1


def test_a_spoilt_repetition_does_not_count() -> None:
    values = logs(np.random.default_rng(3), 12, 0.005)
    before = effect(values, 0).estimate
    values[0, 4] += 1.0
    assert effect(values, 0).estimate == pytest.approx(before, abs=0.002)


def test_a_repetition_that_failed_is_left_out() -> None:
    values = logs(np.random.default_rng(4), 8, 0.002)
    values[2, 3] = np.nan
    assert effect(values, 0).interval(0.999).contains(0.10)


def test_an_arm_without_values_leaves_nothing_to_say() -> None:
    values = logs(np.random.default_rng(5), 8, 0.01)
    values[2, 2:] = np.nan
    assert locate_arms(values) is None
    assert locate_arms(values[:, :2]) is None


def test_a_family_widens_the_interval_and_raises_the_p_value() -> None:
    one = effect(logs(np.random.default_rng(6), 8, 0.02), 2)
    assert one.half_width(0.95, 4) > one.half_width(0.95)
    assert one.p_value(4) == pytest.approx(min(1.0, 4 * one.p_value()))
