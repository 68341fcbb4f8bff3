"""Change points: published formula, planted shifts, dependence, and series without a change."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter

from aferir.statistics.changes import (
    LEAST,
    _distances,
    _steps,
    _weights,
    autocorrelation,
    change_points,
)


def test_the_distance_is_the_energy_distance_of_the_two_parts() -> None:
    series = np.random.default_rng(1).normal(size=30)
    found = _distances(_steps(series), _weights(30))
    for a in range(LEAST, 30 - LEAST + 1):
        x, y = series[:a], series[a:]
        energy = (
            2 * np.abs(x[:, None] - y).mean()
            - np.abs(x[:, None] - x).mean()
            - np.abs(y[:, None] - y).mean()
        )
        assert found[a - 1] == pytest.approx(energy * a * (30 - a) / 30, rel=1e-4)


def test_a_shift_is_found_with_its_place_and_size() -> None:
    series = np.random.default_rng(2).normal(1.0, 0.01, 200)
    series[120:] *= 1.03
    (change,) = change_points(series)
    assert abs(change.at - 120) <= 2
    assert change.p_value <= 0.001
    assert change.ratio == pytest.approx(1.03, abs=0.004)
    assert (change.n_before, change.n_after) == (change.at, 200 - change.at)


def test_a_shift_that_is_taken_back_is_two_changes() -> None:
    series = np.random.default_rng(3).normal(1.0, 0.01, 200)
    series[60:140] *= 1.03
    found = change_points(series)
    assert [abs(a.at - b) <= 2 for a, b in zip(found, (60, 140), strict=True)] == [True, True]


def test_neighbours_that_are_alike_are_no_change() -> None:
    rng = np.random.default_rng(6)
    series = 1 + 0.01 * lfilter([1.0], [1.0, -0.6], rng.normal(size=400))[200:]
    assert autocorrelation(series, 100) == pytest.approx(0.6, abs=0.15)
    assert change_points(series) == ()


@pytest.mark.parametrize("seed", range(6))
def test_a_shift_is_placed_although_neighbours_are_alike(seed: int) -> None:
    rng = np.random.default_rng(seed)
    noise = lfilter([1.0], [1.0, -0.6], 0.8 * rng.normal(size=400))[200:]
    noise[95] += 20  # a spike before the shift
    series = np.exp(0.01 * noise)
    series[100:] *= 1.03
    assert [abs(change.at - 100) <= 2 for change in change_points(series)] == [True]


def test_a_further_shift_is_no_autocorrelation() -> None:
    series = np.random.default_rng(4).normal(0.0, 1.0, 200)
    series[60:140] += 3.0
    assert autocorrelation(series, 60) < 0.2
    assert autocorrelation(np.sort(series), 100) == pytest.approx(0.95)


@pytest.mark.parametrize("series", [[], [1.0], [1.0] * 50, [1.0, 2.0] * 4, [-1.0, 0.0, 1.0] * 30])
def test_there_is_no_change_in_short_constant_and_alternating_series(series: list[float]) -> None:
    assert change_points(np.array(series)) == ()


def test_long_series_are_compared_at_quantiles() -> None:
    series = np.random.default_rng(5).normal(1.0, 0.01, 600)
    series[300:] *= 1.03
    assert [abs(change.at - 300) <= 2 for change in change_points(series)] == [True]


def test_values_that_are_not_finite_are_an_error() -> None:
    with pytest.raises(ValueError, match="finite"):
        change_points(np.array([1.0, float("nan")]))
