"""Finds the highest load at which a service alone meets its service level."""

from __future__ import annotations

import math
import os
from collections.abc import Callable

from aferir.colocation.settings import Sla
from aferir.colocation.trials.load import Load, Times, ask, users
from aferir.colocation.trials.service import Running
from aferir.errors import ProgramError

TIMES = Times(warm_up_s=1.0, measured_s=3.0)
"""Durations of each trial: above its capacity a service's queue grows without limit, and violates
the bound within seconds."""
_FIRST = 40.0
"""Lowest rate in requests per second: 80 in two seconds are the fewest with which a 95th percentile
has an interval."""
_AGAIN = 3
"""Repetitions of the lowest rate, so that a single stall of the machine does not end the search."""
_STEP = 1.6
_RESOLUTION = 0.1
_MOST = 20_000.0
_MOST_CPUS = 0.1
"""Share of the machine's CPUs above which the load generator itself disturbs the service."""
Tell = Callable[[str], None]


def highest_rate(service: Running, sla: Sla, tell: Tell, times: Times = TIMES) -> float:
    """Highest rate in requests per second that meets the SLA, within 10 %.

    `times`: durations of each trial. The search ends below if the load generator would need too
    much CPU time.

    Errors: ProgramError if even the lowest rate violates the service level.
    """
    most_cpus = math.inf if users().host else _MOST_CPUS * (os.cpu_count() or 1)

    def tried(rate: float) -> bool:
        load = ask(service, rate, times, seed=1)
        found = load.latencies().quantile(sla.quantile)
        said = f"{1e3 * found.quantile_s:.1f} ms" if found else "no answer"
        tell(f"{rate:.0f} requests a second: {said}, {load.cpus:.2f} CPUs to ask")
        return meets(load, sla, most_cpus)

    return search(tried)


def meets(load: Load, sla: Sla, most_cpus: float) -> bool:
    """Whether all requests were answered in time, by a load generator with at most these CPUs."""
    found = load.latencies().quantile(sla.quantile)
    in_time = found is not None and found.high_s <= sla.bound_s
    return in_time and load.failed <= 0.01 * len(load.asked) and load.cpus <= most_cpus


def search(stands: Callable[[float], bool]) -> float:
    """Increase the rate by factors of 1.6 until it is too high, then bisect.

    Errors: ProgramError if the lowest rate is too high.
    """
    if not any(stands(_FIRST) for _ in range(1 + _AGAIN)):
        raise ProgramError(
            f"the service alone breaks its service level at {_FIRST:g} requests a second",
            remedy="a longer bound, or a machine with less load of others",
        )
    low, high = _FIRST, _FIRST * _STEP
    while high < _MOST and stands(high):
        low, high = high, high * _STEP
    while high / low > 1 + _RESOLUTION:
        middle = (low * high) ** 0.5
        low, high = (middle, high) if stands(middle) else (low, middle)
    return low
