"""An open-loop load: arrival times and CPU times of requests, drawn from a seed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal

import msgspec
import numpy as np

Needs = Literal["constant", "exponential", "lognormal", "pareto"]
Arrivals = Literal["poisson", "bursts"]

_BURST = 6.0
"""Mean number of requests in a burst."""
_HEAVY = 2.2
"""Exponent of the tail of CPU times: the variance is finite, the third moment infinite."""
_LONGEST = 50.0
"""Upper limit of a heavy-tailed CPU time, in multiples of its mean."""


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """Load of the service, given as the share of all CPUs that it needs."""

    steps: tuple[tuple[float, float], ...] = ((0.0, 0.5),)
    """Steps (second, utilisation), in order of time; each holds until the next."""
    mean_need_s: float = 0.01
    """Mean CPU time of a request in seconds."""
    needs: Needs = "lognormal"
    arrivals: Arrivals = "poisson"

    def __post_init__(self) -> None:
        """Check the values. Errors: ValueError that names an impossible one."""
        if not self.steps or self.steps[0][0] != 0 or list(self.steps) != sorted(self.steps):
            raise ValueError("steps: they begin at second 0 and are in order of time")
        if not all(0 < utilisation < math.inf for _, utilisation in self.steps):
            raise ValueError("steps: a utilisation is a number above 0")
        if not 0 < self.mean_need_s < math.inf:
            raise ValueError(f"mean_need_s: {self.mean_need_s} is no finite number above 0")

    def requests(
        self, cpus: int, until_s: float, rng: np.random.Generator
    ) -> Iterator[tuple[float, float]]:
        """Arrival time and CPU time of each request in seconds, in order of arrival."""
        ends = [start for start, _ in self.steps[1:]] + [until_s]
        now = 0.0
        for (start, utilisation), end in zip(self.steps, ends, strict=True):
            rate = utilisation * cpus / self.mean_need_s
            size = _BURST if self.arrivals == "bursts" else 1.0
            now = start + rng.exponential(size / rate)
            while now < min(end, until_s):
                together = int(rng.geometric(1 / size))
                for _ in range(together):
                    yield now, self._need(rng)
                now += rng.exponential(size / rate)

    def _need(self, rng: np.random.Generator) -> float:
        mean = self.mean_need_s
        if self.needs == "constant":
            return mean
        if self.needs == "exponential":
            return float(rng.exponential(mean))
        if self.needs == "lognormal":  # coefficient of variation 1
            sigma = math.sqrt(math.log(2))
            return float(rng.lognormal(math.log(mean) - sigma**2 / 2, sigma))
        least = mean * (_HEAVY - 1) / _HEAVY
        return float(min(least * (1 + rng.pareto(_HEAVY)), _LONGEST * mean))
