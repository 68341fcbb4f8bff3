"""Reports what a sensor reads of a service during a short time, before a run relies on it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from aferir.colocation.histogram import Histogram
from aferir.colocation.sensors.base import Look, Sensor
from aferir.colocation.sensors.log import LogSensor
from aferir.colocation.settings import Sla
from aferir.model.units import format_duration

_SECONDS = 2.0
_EVERY_S = 0.1


def seen(
    sensor: Sensor,
    sla: Sla,
    *,
    seconds: float = _SECONDS,
    pause: Callable[[float], object] = time.sleep,
) -> tuple[list[str], str]:
    """Lines for people: how many responses came and were understood, and the present quantile.

    Also returns the problem, "" if there is none. If a log gained no lines meanwhile, its last
    lines are reported as well. Errors: none.
    """
    looks = []
    for _ in range(max(1, round(seconds / _EVERY_S))):
        pause(_EVERY_S)
        looks.append(sensor.look())
    whole = together(looks)
    words = told(whole, sla, f"in {format_duration(seconds)}", seconds)
    if isinstance(sensor, LogSensor) and not whole.lines:
        past = told(sensor.past(), sla, "in the log's last lines", 0.0)
        words += [line for line in past if line not in words]
    if not (whole.problem or whole.latencies.total or whole.failed):
        words.append("no answer came meanwhile: check again while requests are sent")
    return words, whole.problem


def together(looks: Sequence[Look]) -> Look:
    """Merge the results of several calls into one, with the last one's problem."""
    latencies = Histogram()
    for look in looks:
        latencies.merge(look.latencies)
    return Look(
        latencies=latencies,
        failed=sum(look.failed for look in looks),
        failed_within=any(look.failed_within for look in looks),
        aside=sum(look.aside for look in looks),
        unread=sum(look.unread for look in looks),
        each=max(look.each for look in looks),
        problem=looks[-1].problem,
    )


def told(look: Look, sla: Sla, when: str, seconds: float) -> list[str]:
    """Describe one result, or several merged results, in sentences."""
    answers = look.latencies.total + (0 if look.failed_within else look.failed)
    rate = f" ({answers * look.each / seconds:.3g} a second)" if seconds and answers else ""
    words = [f"answers {when}: {answers}{rate}"]
    if look.failed:
        words.append(f"failed: {look.failed} ({look.failed / answers:.1%})")
    if look.lines > answers:
        known = 1 - look.unread / look.lines
        words.append(f"understood: {known:.1%} of {look.lines} lines, {look.aside} of no answer")
    if look.latencies.total:
        name = f"p{100 * sla.quantile:g}"
        value_s = look.latencies.value(sla.quantile)
        words.append(f"{name} of good answers: {1e3 * value_s:.3g} ms, wanted {sla}")
    if look.problem:
        words.append(f"problem: {look.problem}")
    return words
