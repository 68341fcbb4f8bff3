"""When clients come: shapes of load, drawn from a seed, or read from a file.

Times are *intended* ones: whoever generates the load starts a client then, and counts from then,
however late it is itself; else a slow service would be asked less and look better (coordinated
omission).
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from aferir.errors import UsageError

Times = NDArray[np.float64]

Profile = tuple[tuple[float, float], ...]
"""Relative rate at positions from 0 to 1 of the duration; straight lines between them."""

_DAY = tuple((k / 96, 1 - math.cos(2 * math.pi * k / 96)) for k in range(97))
PROFILES: dict[str, Profile] = {
    "step": ((0, 1), (0.5, 1), (0.5, 2), (1, 2)),
    "ramp": ((0, 0), (1, 1)),
    "diurnal": _DAY,
    "flash-crowd": ((0, 1), (0.45, 1), (0.45, 20), (0.5, 20), (0.5, 1), (1, 1)),
}
SHAPES = ("poisson", "constant", *PROFILES)
_MOST = 10_000_000


def arrivals(shape: str, *, clients: int, interarrival_s: float, rng: np.random.Generator) -> Times:
    """Seconds at which `clients` come, in order, at a mean distance of `interarrival_s`.

    `poisson` has exponential intervals, `constant` equal ones. A profile is a Poisson process
    whose rate follows it over clients x interarrival_s seconds, given that all clients come.
    """
    if shape == "poisson":
        return np.cumsum(rng.exponential(interarrival_s, clients))
    if shape == "constant":
        return interarrival_s * np.arange(1, clients + 1, dtype=float)
    return clients * interarrival_s * _drawn(PROFILES[shape], clients, rng)


def _drawn(profile: Profile, clients: int, rng: np.random.Generator) -> Times:
    """Positions with the profile's density, sorted: inverse of the integral of its rate."""
    positions, rates = np.array(profile, dtype=float).T
    fine = np.unique(np.concatenate([positions, np.linspace(0, 1, 4097)]))
    # The rate just after a jump; the integral does not mind.
    middle = (fine[1:] + fine[:-1]) / 2
    integral = np.concatenate(
        [[0.0], np.cumsum(np.interp(middle, positions, rates) * np.diff(fine))]
    )
    drawn: Times = np.interp(np.sort(rng.uniform(0, integral[-1], clients)), integral, fine)
    return drawn


def read_trace(path: Path) -> Times:
    """Seconds at which clients come, one on each line, in any order.

    Errors: UsageError where the file cannot be read or holds anything else.
    """
    try:
        words = path.read_text(encoding="utf-8").split()
        times = np.array([float(word) for word in words])
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}", remedy="name a file of seconds"
        ) from None
    except ValueError:
        times = np.array([math.nan])
    if not 0 < times.size <= _MOST or not np.all(np.isfinite(times) & (times >= 0)):
        raise UsageError(
            f"{path}: it has to hold seconds from 0 on, one on each line",
            remedy=f"at least one line, at most {_MOST:,}",
        )
    return np.sort(times)
