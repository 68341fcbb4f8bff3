"""Estimate what the arms of a co-location would have done on a machine of the same speed.

Arms run one after the other, and hosts with other guests change their speed between them. On a
slower machine, work of the service and of the batch takes more CPU time in proportion. The CPU time
that the service then needs more, it takes from idle time and from the batch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

from aferir.colocation.trials.arm import Arm

_HUNGRY = 0.05
"""If a batch leaves at least this share of the machine idle, it could not have used more CPUs."""
_STEP = 0.8
_STILL = 1e-6
"""Sum of squared logarithms below which the speed counts as unchanged."""


def mean_speed(arms: Sequence[Arm]) -> float:
    """Return the mean speed of all arms, or 0 if the speed of any is unknown."""
    found = [arm.speed for arm in arms]
    return fmean(found) if found and all(found) else 0.0


def stepwise(now: float, then: float) -> float:
    """Return `now` over `then`, two speeds, rounded to a power of 0.8; 1 if one is unknown.

    By steps, rates of requests that are adapted to the speed take only a few values.
    """
    return _STEP ** round(math.log(now / then, _STEP)) if now > 0 and then > 0 else 1.0


def idle_cpus(arm: Arm, speed: float) -> float:
    """Return the CPUs that would be idle at that speed; negative if there would be too few."""
    return arm.idle_cpus - _needed(arm, speed)


def batch_cpus(arm: Arm, speed: float) -> float:
    """Return the CPUs that the batch would have had at that speed, at least 0."""
    needed = _needed(arm, speed)
    if arm.idle_cpus >= _HUNGRY * arm.cpus:
        needed = max(needed - arm.idle_cpus, 0.0)
    return max(arm.batch_cpus - needed, 0.0)


def batch_per_s(arm: Arm, speed: float) -> float:
    """Return the pieces of batch work a second that would have been done at that speed."""
    if not (speed and arm.speed and arm.batch_cpus):
        return arm.batch_per_s
    per_cpu = arm.batch_per_s / arm.batch_cpus * speed / arm.speed
    return per_cpu * batch_cpus(arm, speed)


def _needed(arm: Arm, speed: float) -> float:
    """Return the additional CPUs that all but the batch would use; negative at a higher speed."""
    if not (speed and arm.speed):
        return 0.0
    rest = max(arm.cpus - arm.idle_cpus - arm.batch_cpus, 0.0)
    return rest * (arm.speed / speed - 1.0)


def slope(groups: Sequence[Sequence[tuple[float, float]]]) -> float:
    """Estimate the power of the speed to which values are proportional, the same for all groups.

    A group has the (speed, value) of each run of an arm. The power is the within-group slope of an
    analysis of covariance of logarithms; 0 if the speed is unknown or did not change.
    """
    over = under = 0.0
    for group in groups:
        known = [(math.log(x), math.log(y)) for x, y in group if x > 0 and y > 0]
        if not known:
            continue
        middle_x, middle_y = fmean(x for x, _ in known), fmean(y for _, y in known)
        over += sum((x - middle_x) * (y - middle_y) for x, y in known)
        under += sum((x - middle_x) ** 2 for x, _ in known)
    return over / under if under > _STILL else 0.0
