"""Repetitions during which the program, aferir or the whole machine was stopped.

Their durations contain the stop, which must not be reported as a cost of the environment.
"""

from __future__ import annotations

import time

import msgspec

from aferir.model.record import Failure, Record, Warning
from aferir.runner.estimate import ELAPSED

STOPPED = "stopped"
"""Code of the failure and of the warning about stops."""
_NOTICED_S = 0.5


def suspended_s() -> float:
    """Time in s since boot in which the machine was suspended (CLOCK_BOOTTIME)."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic()


def judged(record: Record, *, ours_s: float, asleep_s: float, program_s: float) -> Record:
    """Record with its stops accounted for: a stopped program fails, other stops add a warning.

    Stops of at least 0.5 s of aferir or the machine are reported; those of aferir are subtracted
    from `elapsed_s`.
    """
    if program_s > 0:
        message = f"the program was stopped for {program_s:.0f} s (SIGSTOP): it has no duration"
        failure = Failure(STOPPED, message, "let it run: nobody may stop what is measured")
        return msgspec.structs.replace(record, samples=(), series=(), failure=failure)
    if max(ours_s, asleep_s) < _NOTICED_S:
        return record
    warning = Warning(
        STOPPED,
        "aferir was stopped, or the machine suspended, during some repetitions",
        "run the experiment again where nothing stops it, if these repetitions stand out",
    )
    samples = tuple(
        msgspec.structs.replace(sample, value=max(0.0, sample.value - ours_s))
        if sample.metric == ELAPSED
        else sample
        for sample in record.samples
    )
    return msgspec.structs.replace(record, samples=samples, warnings=(*record.warnings, warning))
