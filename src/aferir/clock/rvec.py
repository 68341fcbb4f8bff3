"""A strictly increasing, precise clock: librvec for Python.

    from aferir.clock import rvec

    start = rvec.now_ns()
    work()
    took_ns = rvec.now_ns() - start

The process's timeline is calibrated once, for 20 ms, when this module is first imported. Reading
it is no system call and costs about what `time.perf_counter_ns` does. Guarantees, and what breaks
them: docs/reference/clock.md (Dutra 2015, chapter 6).
"""

from __future__ import annotations

from typing import Literal

import msgspec

from aferir.clock.native import RVEC_REMEDIES, failures_as_errors

from aferir.clock._native import (  # isort: skip - `native` says what to do where it is missing
    core_offsets,
    measure_offsets,
    now_ns,
    ns_to_ticks,
    refine as _refine,
    rvec_facts,
    ticks,
    ticks_to_ns,
    unix_shift_ns,
)

__all__ = [
    "CoreOffset",
    "Info",
    "elapsed_ns",
    "info",
    "now_ns",
    "ns_to_ticks",
    "refine",
    "ticks",
    "ticks_to_ns",
    "unix_shift_ns",
]

# now_ns() -> int: nanoseconds since the import. Of two readings in causal order, by whichever
# threads, the second is greater. Python's own function, so that nothing lies between.
# ticks() -> int: the counter itself, read in order. ticks_to_ns, ns_to_ticks: at the present rate.
# unix_shift_ns() -> int: what to add to now_ns() for Unix time, by the system's clock as it is now.

Invariance = Literal["none", "claimed", "trusted", "given"]
_INVARIANCES: tuple[Invariance, ...] = ("none", "claimed", "trusted", "given")


class CoreOffset(msgspec.Struct, frozen=True):
    """Counter of a core minus that of core 0, in ticks."""

    core: int
    offset_ticks: int
    uncertainty_ticks: int
    applied: bool
    """Whether readings are corrected by the offset, because it exceeds its uncertainty."""


class Info(msgspec.Struct, frozen=True, kw_only=True):
    """State of the process's clock."""

    counter: str
    """Counter in use: `tsc (rdtscp)`, `cntvct_el0`, or the fallback `clock_monotonic`."""
    frequency_hz: float
    uncertainty_ppb: float
    """Uncertainty of the rate against CLOCK_MONOTONIC_RAW, in ppb: half of its interval's width."""
    invariance: Invariance
    """Who guarantees that the counter's rate is constant. `trusted`: the kernel, which keeps time
    by it; `claimed`: only the processor; `given`: the caller, who supplied the counter; `none`:
    nobody.
    """
    cores: int
    cores_checked: int
    jumps: int
    """Jumps of the counter that were corrected so far: suspend, restore, live migration."""
    rate_changes: int
    doubt_ns: int
    """Total uncertainty of the corrected jumps, in ns."""
    offsets: tuple[CoreOffset, ...]
    """Offsets of the cores that were checked."""


def info(*, check_cores: bool = False) -> Info:
    """Present state of the clock.

    `check_cores` first measures each core's counter against core 0's, which takes some ms for each
    core. Errors: ClockError if this process may not run on every core.
    """
    if check_cores:
        with failures_as_errors("offsets of the cores", RVEC_REMEDIES):
            measure_offsets()
    facts = rvec_facts()
    facts["invariance"] = _INVARIANCES[int(facts["invariance"])]
    offsets = [CoreOffset(*offset) for offset in core_offsets()]
    return msgspec.convert({**facts, "offsets": offsets}, Info)


def refine() -> None:
    """Determine the rate over the whole time since the import; it is also done automatically.

    Errors: ClockError if counter and CLOCK_MONOTONIC_RAW no longer agree on a rate.
    """
    with failures_as_errors("the counter's rate", RVEC_REMEDIES):
        _refine()


def elapsed_ns(start_ticks: int, end_ticks: int) -> int:
    """Time in ns between two values of `ticks`, correct across one wrap of the counter."""
    return ticks_to_ns((end_ticks - start_ticks) % 2**64)
