"""The real frequency of a core, from a program whose number of cycles is known.

Cycles are CPU time times this frequency, not ticks of the time-stamp counter, and hypervisors hide
counters and cpufreq. It is measured before and after each run, since a core slows down when its
neighbours work.
"""

from __future__ import annotations

import json
import math

from aferir.model.record import Sample, Side

PROGRAM = "core-frequency"
ARGUMENTS = ("--milliseconds", "10")
"""Arguments with which the program measures in windows so short that some are undisturbed."""


_APART = 0.2
"""Largest plausible relative difference of the frequencies from two instruction chains. If it is
larger, one instruction's latency differs from the assumed one, by a quarter at least; the frequency
itself may change by 5 % from one window to the next."""


def parse(stdout: str) -> float | None:
    """Frequency in Hz of the fastest window, from the program's output; None if it is malformed.

    Also None if the chains of multiplications and additions disagree, as this processor's latencies
    are then not the assumed ones.
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
    """`core_frequency_before_hz` and `_after_hz`, each if it could be measured."""
    found = (("core_frequency_before_hz", before_hz), ("core_frequency_after_hz", after_hz))
    return tuple(Sample(metric, value, "Hz", side) for metric, value in found if value is not None)
