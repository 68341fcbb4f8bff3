"""The frequency that a core really runs at, from a program whose cycles are known.

Cycles are CPU time times this frequency, not ticks of the time-stamp counter, and a hypervisor
shows neither counters nor cpufreq. It is measured before and after each run, since a core slows
down when its neighbours work.
"""

from __future__ import annotations

import json
import math

from aferir.model.record import Sample, Side

PROGRAM = "core-frequency"
ARGUMENTS = ("--milliseconds", "10")
"""Windows of tens of microseconds, so that some of them are undisturbed."""


def parse(stdout: str) -> float | None:
    """Hz of the fastest window that the program printed; None where the text is no such line."""
    try:
        found = json.loads(stdout)["frequency_hz"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    if not isinstance(found, int | float) or isinstance(found, bool):
        return None
    return float(found) if math.isfinite(found) and found > 0 else None


def samples(before_hz: float | None, after_hz: float | None, side: Side) -> tuple[Sample, ...]:
    """`core_frequency_before_hz` and `_after_hz`, each where it could be measured."""
    found = (("core_frequency_before_hz", before_hz), ("core_frequency_after_hz", after_hz))
    return tuple(Sample(metric, value, "Hz", side) for metric, value in found if value is not None)
