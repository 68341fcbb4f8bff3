"""The default rule on a noisy machine detects a planted 10 %, and claims nothing for 0 %."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from aferir.statistics.ratio import paired_ratio, unpaired_ratio
from aferir.statistics.verdict import decide

Array = NDArray[np.float64]


def interleaved(
    rng: np.random.Generator,
    n: int,
    *,
    effect: float = 0.0,
    spread: float = 0.015,
    spikes: float = 0.08,
    drift: float = 0.05,
) -> tuple[Array, Array]:
    """n pairs (container, native) around 1 s; the container is `effect` slower.

    Lognormal noise of `spread`; each repetition is, with chance `spikes`, 20 to 100 % slower;
    both arms share a drift of up to `drift` over the run, part ramp, part wave.
    """
    t = np.linspace(0, 1, n)
    ramp = drift * rng.choice([-1.0, 1.0]) * t
    wave = drift / 2 * np.sin(2 * np.pi * (t * rng.uniform(0.5, 2) + rng.random()))
    trend = np.exp(ramp + wave)
    return (
        (1 + effect) * trend * _arm(rng, n, spread, spikes),
        trend * _arm(rng, n, spread, spikes),
    )


def _arm(rng: np.random.Generator, n: int, spread: float, spikes: float) -> Array:
    slower = np.where(rng.random(n) < spikes, rng.uniform(0.2, 1.0, n), 0.0)
    durations: Array = np.exp(rng.normal(0, spread, n)) * (1 + slower)
    return durations


def claims(seed: int, trials: int, n: int, effect: float, *, spread: float = 0.015) -> float:
    """Share of trials in which the container is called slower or faster."""
    rng = np.random.default_rng(seed)
    found = 0
    for _ in range(trials):
        slow, fast = interleaved(rng, n, effect=effect, spread=spread)
        found += decide(paired_ratio(slow, fast)).outcome in {"higher", "lower"}
    return found / trials


@pytest.mark.parametrize("n", [12, 15])
@pytest.mark.parametrize("spread", [0.01, 0.02])
def test_a_planted_slowdown_of_10_percent_is_detected(n: int, spread: float) -> None:
    assert claims(1, 400, n, 0.10, spread=spread) >= 0.95


@pytest.mark.parametrize("n", [5, 8, 10, 12, 15])
@pytest.mark.parametrize("spread", [0.01, 0.02])
def test_no_slowdown_is_not_detected(n: int, spread: float) -> None:
    assert claims(2, 400, n, 0.0, spread=spread) <= 0.03


@pytest.mark.parametrize("n", [12, 15])
def test_nineteen_of_twenty(n: int) -> None:
    assert claims(20, 20, n, 0.10) >= 19 / 20
    assert claims(20, 20, n, 0.0) <= 1 / 20


def test_a_claimed_slowdown_is_of_the_right_size_and_direction() -> None:
    rng = np.random.default_rng(3)
    inside = 0
    for _ in range(400):
        slow, fast = interleaved(rng, 12, effect=0.10)
        ratio = paired_ratio(slow, fast)
        inside += ratio.interval is None or ratio.interval.contains(1.10)
    # Nominal 380 of 400; three standard deviations of chance are 13.
    assert 0.92 <= inside / 400 <= 0.985


def test_equivalence_is_seldom_claimed_at_the_margin() -> None:
    """At a true ratio of exactly 1 + margin, 5 % is the most that may slip through."""
    rng = np.random.default_rng(4)
    wrong = 0
    for _ in range(400):
        slow, fast = interleaved(rng, 12, effect=0.03)
        wrong += decide(paired_ratio(slow, fast)).equivalent
    assert wrong / 400 <= 0.08


def test_equivalence_is_often_shown_for_equal_arms() -> None:
    rng = np.random.default_rng(5)
    shown = 0
    for _ in range(200):
        slow, fast = interleaved(rng, 15, effect=0.0, spread=0.01)
        shown += decide(paired_ratio(slow, fast)).outcome in {"alike", "equivalent"}
    assert shown / 200 >= 0.9


def test_unpaired_runs_keep_the_rate_of_false_claims() -> None:
    """Two runs on different days share no drift, so here there is none."""
    rng = np.random.default_rng(6)
    wrong = right = 0
    for _ in range(300):
        slow, fast = interleaved(rng, 12, effect=0.0, drift=0.0)
        wrong += decide(unpaired_ratio(slow, fast)).outcome in {"higher", "lower"}
        slow, fast = interleaved(rng, 12, effect=0.10, drift=0.0)
        right += decide(unpaired_ratio(slow, fast)).outcome == "higher"
    assert wrong / 300 <= 0.03
    assert right / 300 >= 0.90
