"""The highest load under which a service alone meets its service level."""

from __future__ import annotations

import os
from collections.abc import Callable

from aferir.colocation.settings import Sla
from aferir.colocation.trials.arm import Load, Times, ask
from aferir.colocation.trials.service import Running
from aferir.errors import ProgramError

TIMES = Times(warm_up_s=1.0, measured_s=3.0)
"""Beyond what it can do a service's queue grows for ever, but the bound is reached in a while."""
_FIRST = 40.0
"""Requests a second; 80 in two seconds are the fewest that give a 95th percentile an interval."""
_AGAIN = 3
"""Trials more of that: a moment in which the machine stood still is not to end everything."""
_STEP = 1.6
_RESOLUTION = 0.1
_MOST = 20_000.0
_MOST_CPUS = 0.1
"""CPUs of the machine, for the load generator: one that uses more is no user elsewhere any more."""
Tell = Callable[[str], None]


def highest_rate(service: Running, sla: Sla, tell: Tell, times: Times = TIMES) -> float:
    """Requests a second, to a tenth: a rate that was met, where the next higher one was not.

    `times`: of each trial. A service that stands more than the load generator may ask is left at
    that.

    Errors: ProgramError where even the lowest rate breaks the service level.
    """

    def tried(rate: float) -> bool:
        load = ask(service, rate, times, seed=1)
        found = load.latencies().quantile(sla.quantile)
        said = f"{1e3 * found.quantile_s:.1f} ms" if found else "no answer"
        tell(f"{rate:.0f} requests a second: {said}, {load.cpus:.2f} CPUs to ask")
        return meets(load, sla, os.cpu_count() or 1)

    return search(tried)


def meets(load: Load, sla: Sla, cpus: int) -> bool:
    """Whether all was answered in time, by who was asked from elsewhere.

    `cpus`: of the machine.
    """
    found = load.latencies().quantile(sla.quantile)
    in_time = found is not None and found.high_s <= sla.bound_s
    return in_time and load.failed <= 0.01 * len(load.asked) and load.cpus <= _MOST_CPUS * cpus


def search(stands: Callable[[float], bool]) -> float:
    """Upwards in steps of 1.6 until it is too much, then halved in between.

    Errors: ProgramError where the lowest rate is too much.
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
