"""One ratio over several hosts that each measured it: the host is a block with a random effect.

Every host has the same rounds, so the design is balanced: the mean of the hosts' estimates, with
Student's t on as many degrees of freedom as hosts less one, is the exact analysis of the mixed
model log ratio = mean + effect of the host + error (Searle, Casella and McCulloch 1992, "Variance
Components", chapter 3). The interval holds for any host of that kind, not only for those that were
measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from aferir.statistics.intervals import Interval, around

_OVERFLOW = 709.0
"""Logarithm above which the exponential is no finite number."""


class OverHosts(msgspec.Struct, frozen=True, kw_only=True):
    """Ratio over several hosts, with its interval."""

    estimate: float
    """Geometric mean of the hosts' ratios."""
    interval: Interval | None
    """Confidence interval that holds for any host of that kind; None for a single host."""
    between: float | None
    """Standard deviation of the hosts' true log ratios: 0.01 if hosts differ by 1 %; 0.0 if the
    errors of their estimates explain all differences; None if these errors are unknown.
    """
    hosts: int


def over_hosts(
    log_ratios: Sequence[float], errors: Sequence[float | None], *, level: float = 0.95
) -> OverHosts:
    """Combine one log ratio of each host; `errors` are their standard errors.

    Errors: ValueError without any host.
    """
    count = len(log_ratios)
    if not count:
        raise ValueError("no host to combine")
    centre = math.fsum(log_ratios) / count
    if count == 1:
        return OverHosts(estimate=math.exp(centre), interval=None, between=None, hosts=1)
    variance = float(np.var(log_ratios, ddof=1))
    on_logs = around(centre, math.sqrt(variance / count), count - 1, level, "t over hosts")
    return OverHosts(
        estimate=math.exp(centre),
        interval=Interval(_exp(on_logs.low), _exp(on_logs.high), level, on_logs.method),
        between=_between(variance, errors),
        hosts=count,
    )


def _between(variance: float, errors: Sequence[float | None]) -> float | None:
    """Standard deviation between hosts (analysis of variance); None if an error is unknown."""
    known = [error for error in errors if error is not None]
    if len(known) < len(errors):
        return None
    within = math.fsum(error * error for error in known) / len(known)
    return math.sqrt(max(0.0, variance - within))


def _exp(value: float) -> float:
    return math.exp(value) if value < _OVERFLOW else math.inf
