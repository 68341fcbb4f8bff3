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


_APART = 0.2
"""Two chains of other latencies that differ by more: one latency is not what it is taken for, which
makes a quarter at least. The frequency itself may change from one window to the next by 5 %."""


def parse(stdout: str) -> float | None:
    """Hz of the fastest window that the program printed; None where the text is no such line.

    None, too, where its chain of multiplications and its chain of additions do not agree: then
    this processor's latencies are not those that the cycles were counted by.
    """
    try:
        document = json.loads(stdout)
        found = document["frequency_hz"]
        check = document.get("add_frequency_hz", found)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    if not all(_positive(value) for value in (found, check)) or abs(check / found - 1) > _APART:
        return None
    return float(found)


def _positive(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) and value > 0


def samples(before_hz: float | None, after_hz: float | None, side: Side) -> tuple[Sample, ...]:
    """`core_frequency_before_hz` and `_after_hz`, each where it could be measured."""
    found = (("core_frequency_before_hz", before_hz), ("core_frequency_after_hz", after_hz))
    return tuple(Sample(metric, value, "Hz", side) for metric, value in found if value is not None)
