"""Finds a load for a service alone: the highest that meets its SLA, or one of given CPU use."""

from __future__ import annotations

import math
import os
from collections.abc import Callable

from aferir.colocation.service import ServiceSpec, processes
from aferir.colocation.settings import Sla
from aferir.colocation.trials.load import Load, Times, ask, users
from aferir.colocation.trials.service import Running
from aferir.colocation.usage import process_seconds
from aferir.errors import ProgramError

TIMES = Times(warm_up_s=1.0, measured_s=3.0)
"""Durations of each trial: above its capacity a service's queue grows without limit, and violates
the bound within seconds."""
_FIRST = 40.0
"""Lowest rate in requests per second: in two seconds it gives 80 requests, just enough for an
interval of a 95th percentile."""
_AGAIN = 3
"""Repetitions of the lowest rate, so that a single stall of the machine does not end the search."""
_STEP = 1.6
_RESOLUTION = 0.1
_MOST = 20_000.0
_MOST_CPUS = 0.1
"""Share of the machine's CPUs above which the load generator itself disturbs the service."""
_CLOSE, _TRIES = 0.05, 6
"""Relative difference of successive rates below which the search for a rate ends, and largest
number of trials.
"""
Tell = Callable[[str], None]


def highest_rate(service: Running, sla: Sla, tell: Tell, times: Times = TIMES) -> float:
    """Highest rate in requests per second that meets the SLA, within 10 %.

    `times`: durations of each trial. The search ends at a lower rate if the load generator would
    need too much CPU time. Errors: ProgramError if even the lowest rate violates the service level.
    """
    most_cpus = math.inf if users().host else _MOST_CPUS * (os.cpu_count() or 1)

    def tried(rate: float) -> bool:
        load = ask(service, rate, times, seed=1)
        found = load.latency(sla)
        said = f"{1e3 * found.quantile_s:.1f} ms" if found else "no answer"
        tell(f"{rate:.0f} requests a second: {said}, {load.cpus:.2f} CPUs to ask")
        return meets(load, sla, most_cpus)

    return search(tried)


def rate_using(service: Running, share: float, tell: Tell, times: Times = TIMES) -> float:
    """Rate in requests per second at which the service alone uses that share of all CPUs.

    Oliveira 2022 states loads in this way. The service need not meet its SLA at that rate. `times`:
    durations of each trial. Errors: ProgramError if it uses no measurable CPU time.
    """
    target = share * (os.cpu_count() or 1)

    def used(rate: float) -> float:
        before = _service_s(service)
        ask(service, rate, times, seed=1)
        cpus = (_service_s(service) - before) / (times.warm_up_s + times.measured_s)
        tell(f"{rate:.0f} requests a second: {cpus:.2f} of {target:.2f} CPUs")
        return cpus

    return settle(used, target)


def _service_s(service: Running) -> float:
    """CPU seconds that the service's processes have used."""
    pids = processes(ServiceSpec("pid", str(service.pid)))
    return sum(process_seconds(pid) or 0.0 for pid in pids)


def settle(used: Callable[[float], float], target: float) -> float:
    """Find the rate that uses `target` CPUs, within 5 % or six trials; `used` measures CPUs.

    CPU use is nearly proportional to the rate, so each trial scales the one before. Errors:
    ProgramError if nothing is used, or no more at a higher rate although it is not enough.
    """
    rate, most = _FIRST, 0.0
    for _ in range(_TRIES):
        cpus = used(rate)
        if max(cpus, most) * (1 + _CLOSE) < target and 0 < cpus <= most * (1 + _CLOSE):
            raise ProgramError(
                f"the service alone uses no more than {most:.2f} CPUs",
                remedy="a smaller load, or a service with more workers",
            )
        most = max(most, cpus)
        if cpus <= 0:
            raise ProgramError(
                f"the service uses no CPU time at {rate:g} requests a second",
                remedy="a load as a share of the highest rate",
            )
        before, rate = rate, min(rate * target / cpus, _MOST)
        if abs(rate / before - 1) <= _CLOSE:
            break
    return rate


def meets(load: Load, sla: Sla, most_cpus: float) -> bool:
    """Whether the SLA was met, with at most 1 % failures and `most_cpus` of the load generator."""
    return load.meets(sla) and load.failed <= 0.01 * len(load.asked) and load.cpus <= most_cpus


def search(stands: Callable[[float], bool]) -> float:
    """Increase the rate by factors of 1.6 until it is too high, then bisect.

    `stands`: whether the service meets its SLA at a rate. Errors: ProgramError if the lowest rate
    is too high.
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
