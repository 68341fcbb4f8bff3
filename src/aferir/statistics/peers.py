"""Finds hosts that differ from their peers, which are meant to be alike.

Rounds are blocks: what slows a whole round slows all hosts, and is removed by its median. Each host
then has one location over the rounds. Hosts of one kind differ a little anyway, so a host is judged
by the scatter *between* the others (a random effect), not by how precisely the rounds measure it:
its deviation over their standard deviation follows Student's t exactly if the others are normal
(the externally studentised residual; Grubbs 1969 for the largest). Several are found one after
another, the furthest first, each judged without those before it (Rosner 1983). Every step adjusts
for the number of hosts tested, and for the other steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from scipy import stats
from scipy.optimize import brentq

from aferir.statistics.arrays import Array
from aferir.statistics.intervals import Interval
from aferir.statistics.ratio import paired_ratio
from aferir.statistics.robust import locate

LEAST = 4
"""Smallest number of hosts to compare: each then has three peers, whose standard deviation has two
degrees of freedom.
"""
LEAST_ROUNDS = 3
_MOST = 5
"""Largest number of hosts that are reported as different."""


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """One host compared with its peers."""

    name: str
    ratio: float
    """Ratio to the median of its peers in the same rounds: 1.08 for a host that takes 8 % more
    time.
    """
    interval: Interval | None
    """95 % confidence interval of the ratio of this host to these peers."""
    p_value: float
    """P value of the hypothesis that the host differs no more than hosts of its kind do, adjusted
    for the number of tested hosts; 1 if nothing can be concluded.
    """
    differs: bool
    """True if the host is reported as different from its peers."""


def standings(
    values: Mapping[str, Sequence[float]], *, alpha: float = 0.05
) -> tuple[Standing, ...]:
    """Standing of each host, the smallest ratio first; `values` are positive, one for each round.

    The probability of reporting any host among hosts that are alike is at most `alpha`. Errors:
    ValueError if hosts have different numbers of rounds or fewer than `LEAST_ROUNDS`.
    """
    names = tuple(values)
    logs = _logs(values)
    effects = _effects(logs)
    named = _outliers(effects, alpha) if len(names) >= LEAST else {}
    out = set(named)
    found = [_standing(names, logs, place, out, named.get(place)) for place in range(len(names))]
    return tuple(sorted(found, key=lambda one: one.ratio))


def detectable(
    values: Mapping[str, Sequence[float]], *, alpha: float = 0.05, power: float = 0.9
) -> float | None:
    """Smallest relative difference, such as 0.03, of one host that would be reported.

    A fleet like this one reports a host that much slower with probability `power`: the hosts that
    are reported now are left out, and the others' standard deviation is taken as known (noncentral
    t distribution). None for fewer than `LEAST` hosts. Errors: as of `standings`.
    """
    logs = _logs(values)
    if logs.shape[0] < LEAST:
        return None
    effects = _effects(logs)
    alike = np.delete(effects, list(_outliers(effects, alpha)))
    size = effects.size
    freedom = size - 2
    critical = float(stats.t.isf(alpha / (2.0 * size * _steps(size)), freedom))
    # The noncentral t distribution has no inverse in its parameter: the power is increasing in it.
    needed = brentq(
        lambda shift: stats.nct.sf(critical, freedom, shift) - power, 0.0, 8.0 * critical
    )
    return float(np.expm1(needed * alike.std(ddof=1) * np.sqrt(1.0 + 1.0 / (size - 1))))


def _logs(values: Mapping[str, Sequence[float]]) -> Array:
    """Logarithms of the values, a row for each host. Errors: as of `standings`."""
    logs = np.log(np.asarray(list(values.values()), dtype=np.float64))
    if logs.ndim != 2 or logs.shape[1] < LEAST_ROUNDS:
        raise ValueError(f"needs {LEAST_ROUNDS} rounds of every host at least")
    return logs


def _effects(logs: Array) -> Array:
    """Location of each host over the rounds, relative to the rounds' medians."""
    return np.asarray([_location(row) for row in logs - np.median(logs, axis=0)])


def _steps(hosts: int) -> int:
    """Largest number of hosts that may be reported: a quarter of all, and at most five."""
    return max(1, min(_MOST, hosts // 4))


def _standing(
    names: Sequence[str], logs: Array, place: int, out: set[int], p_value: float | None
) -> Standing:
    peers = [other for other in range(len(names)) if other != place and other not in out]
    if not peers:
        return Standing(name=names[place], ratio=1.0, interval=None, p_value=1.0, differs=False)
    beside = paired_ratio(np.exp(logs[place]), np.exp(np.median(logs[peers], axis=0)))
    apart = beside.interval is not None and not (beside.interval.low <= 1.0 <= beside.interval.high)
    return Standing(
        name=names[place],
        ratio=beside.estimate or 1.0,
        interval=beside.interval,
        p_value=1.0 if p_value is None else p_value,
        differs=p_value is not None and apart,
    )


def _outliers(effects: Array, alpha: float) -> dict[int, float]:
    """Positions of hosts that differ, with p values; at most a quarter of all and at most five."""
    steps = _steps(effects.size)
    left = list(range(effects.size))
    found: list[tuple[int, float]] = []
    for _ in range(steps):
        place, p_value = _furthest(effects, left)
        found.append((place, min(1.0, steps * p_value)))
        left.remove(place)
    last = max((step for step, (_, p) in enumerate(found, start=1) if p <= alpha), default=0)
    # A host that a later one masks has the smaller p value of the two.
    return {place: min(p for _, p in found[k:last]) for k, (place, _) in enumerate(found[:last])}


def _furthest(effects: Array, left: Sequence[int]) -> tuple[int, float]:
    """Position of the host that deviates most from the others, and its adjusted p value."""
    here = effects[list(left)]
    size = here.size
    off = here - here.mean()
    chosen = int(np.argmax(np.abs(off)))
    others = np.delete(here, chosen)
    spread = float(others.std(ddof=1)) * float(np.sqrt(1.0 + 1.0 / others.size))
    apart = abs(float(here[chosen] - others.mean()))
    if apart == 0.0:
        return left[chosen], 1.0
    score = apart / spread if spread > 0.0 else np.inf
    return left[chosen], min(1.0, 2.0 * size * float(stats.t.sf(score, size - 2)))


def _location(row: Array) -> float:
    found = locate(row)
    return float(row.mean()) if found is None else found.centre
