"""What was measured: samples, warnings, and the record of one finished repetition."""

from __future__ import annotations

from typing import Literal

import msgspec

Side = Literal["program", "host", "instance", "environment"]
"""Who says it: the program's own output, a probe on the host, one inside the instance, or
the environment's allocation events."""


class Warning(msgspec.Struct, frozen=True, order=True):
    """Typed doubt about a result, with advice; it follows the result into every table."""

    code: str
    """e.g. `emulated`, `load-of-others`, `outliers`, `autocorrelated`, `time-limit`."""
    message: str
    advice: str = ""


class Sample(msgspec.Struct, frozen=True):
    """One value. The metric's name ends in its unit's symbol: `duration_s`, `throughput_bps`."""

    metric: str
    value: float
    unit: str
    side: Side = "program"


class Failure(msgspec.Struct, frozen=True):
    """Why a repetition gave no figure: an unverified kernel, a time limit, a dead instance."""

    code: str
    message: str


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One finished repetition of one cell; (cell, repetition, warmup) occurs once in a run.

    An allocation is recorded in the same form, with cell `<environment>/allocation`.
    """

    cell: str
    group: str
    environment: str
    workload: str
    factors: dict[str, str | int | float | bool] = {}
    repetition: int
    warmup: bool = False
    started_unix_ns: int
    command: tuple[str, ...] = ()
    samples: tuple[Sample, ...] = ()
    warnings: tuple[Warning, ...] = ()
    failure: Failure | None = None
