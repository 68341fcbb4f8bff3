"""Draw series of runs' figures with noise of 1 %, and the peers that divide them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import stats
from scipy.signal import lfilter

from aferir.statistics.arrays import Array
from aferir.statistics.changes import LEAST, LEVEL, PERMUTATIONS, _distances, _steps, _weights

NOISE = 0.01
"""Standard deviation between runs of one version: a run's figure is a median of repetitions."""
SETTLE = 200
"""Values of an autoregression that are discarded, so that it has settled."""
Noise = Callable[[np.random.Generator, int], Array]
Divide = Callable[[Array], list[int]]


def independent(rng: np.random.Generator, n: int) -> Array:
    """Draw independent normal noise."""
    return rng.normal(size=n)


def heavy(rng: np.random.Generator, n: int) -> Array:
    """Draw Student's t noise with 3 degrees of freedom, scaled to a standard deviation of 1."""
    return np.asarray(rng.standard_t(3, size=n) / np.sqrt(3), dtype=np.float64)


def spikes(rng: np.random.Generator, n: int) -> Array:
    """Draw normal noise; one run in twenty is 5 to 30 % slower."""
    slow = np.where(rng.random(n) < 0.05, rng.uniform(5, 30, n), 0.0)
    return np.asarray(rng.normal(size=n) + slow)


def neighbours(rho: float) -> Noise:
    """Return a first-order autoregression with a standard deviation of 1."""

    def draw(rng: np.random.Generator, n: int) -> Array:
        pushes = rng.normal(size=n + SETTLE) * np.sqrt(1 - rho**2)
        return np.asarray(lfilter([1.0], [1.0, -rho], pushes)[SETTLE:], dtype=np.float64)

    return draw


NOISES: dict[str, Noise] = {
    "independent": independent,
    "heavy-tailed": heavy,
    "spikes": spikes,
    "autocorrelated-0.3": neighbours(0.3),
    "autocorrelated-0.6": neighbours(0.6),
}


def series(noise: Noise, rng: np.random.Generator, n: int) -> Array:
    """Draw the figures of `n` runs around 1."""
    return np.asarray(np.exp(NOISE * noise(rng, n)), dtype=np.float64)


def by_permutation(values: Array) -> list[int]:
    """Divide as Matteson and James 2014 do: by a permutation test that assumes independent runs."""
    rng = np.random.default_rng(1)

    def test(part: Array) -> tuple[int, float]:
        steps, weights = _steps(part), _weights(part.size)
        reached = _distances(steps, weights)
        at, beyond, most = int(reached.argmax()) + 1, 0, LEVEL * (PERMUTATIONS + 1)
        for drawn in range(1, PERMUTATIONS + 1):
            order = rng.permutation(part.size)
            beyond += bool(_distances(steps[order], weights).max() >= reached.max())
            if beyond + 1 > most:
                return at, (beyond + 1) / (drawn + 1)
        return at, (beyond + 1) / (PERMUTATIONS + 1)

    return _recursive(np.log(values), 0, LEVEL, test)


def by_t_test(level: float) -> Divide:
    """Divide as Hunter does: at the largest energy distance, by Welch's t test of the two sides."""

    def test(part: Array) -> tuple[int, float]:
        at = int(_distances(_steps(part), _weights(part.size)).argmax()) + 1
        return at, float(stats.ttest_ind(part[:at], part[at:], equal_var=False).pvalue)

    return lambda values: _recursive(np.log(values), 0, level, test)


def _recursive(
    part: Array, offset: int, level: float, test: Callable[[Array], tuple[int, float]]
) -> list[int]:
    if part.size < 2 * LEAST:
        return []
    at, p_value = test(part)
    if p_value > level:
        return []
    return [
        *_recursive(part[:at], offset, level, test),
        offset + at,
        *_recursive(part[at:], offset + at, level, test),
    ]
