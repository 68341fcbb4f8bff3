"""Arrival times of clients: shapes of load, drawn from a seed, or read from a file.

Times are *intended* ones: the load generator starts a client at that time and measures from it,
even if it is late itself. Otherwise a slow service would get fewer requests and look better
(coordinated omission).
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from aferir.errors import UsageError

Times = NDArray[np.float64]

Profile = tuple[tuple[float, float], ...]
"""Relative arrival rates at positions from 0 to 1 of the duration, interpolated linearly."""

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
    """Arrival times of `clients` in seconds, ascending, with mean interval `interarrival_s`.

    `poisson` has exponential intervals, `constant` equal ones. A profile is a Poisson process whose
    rate follows the profile over clients x interarrival_s seconds, conditioned on the number of
    clients.
    """
    if shape == "poisson":
        return np.cumsum(rng.exponential(interarrival_s, clients))
    if shape == "constant":
        return interarrival_s * np.arange(1, clients + 1, dtype=float)
    return clients * interarrival_s * _drawn(PROFILES[shape], clients, rng)


def _drawn(profile: Profile, clients: int, rng: np.random.Generator) -> Times:
    """Draw sorted positions whose density follows the profile, by inverting its integral."""
    positions, rates = np.array(profile, dtype=float).T
    fine = np.unique(np.concatenate([positions, np.linspace(0, 1, 4097)]))
    # At a jump this takes one of the two rates, which does not change the integral.
    middle = (fine[1:] + fine[:-1]) / 2
    integral = np.concatenate(
        [[0.0], np.cumsum(np.interp(middle, positions, rates) * np.diff(fine))]
    )
    drawn: Times = np.interp(np.sort(rng.uniform(0, integral[-1], clients)), integral, fine)
    return drawn


def read_trace(path: Path) -> Times:
    """Arrival times of clients in seconds, from a file with one per line, in any order.

    Errors: UsageError if the file cannot be read or contains anything else.
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
