"""What was measured: samples, warnings, and the record of one finished repetition."""

from __future__ import annotations

from typing import Literal

import msgspec

Side = Literal["program", "host", "instance", "environment"]
"""Who says it: the program's own output, a probe on the host, one inside the instance, or
the environment's allocation events."""
Better = Literal["", "lower", "higher"]
"""The direction in which a figure is better; empty: nobody has said."""


class Warning(msgspec.Struct, frozen=True, order=True):
    """Typed doubt about a result, with advice; it follows the result into every table."""

    code: str
    """e.g. `emulated`, `load-of-others`, `outliers`, `autocorrelated`, `time-limit`."""
    message: str
    advice: str = ""


class Sample(msgspec.Struct, frozen=True, omit_defaults=True):
    """One value. The metric's name ends in its unit's symbol: `duration_s`, `throughput_bps`."""

    metric: str
    value: float
    unit: str
    side: Side = "program"
    better: Better = ""


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """Many values of one repetition along something else, e.g. latency by message size.

    `values` and `at` have one length. Where repetitions share their places, they are pooled.
    """

    metric: str
    """Metric of the values; its name ends in the unit's symbol as a sample's does: `latency_s`."""
    unit: str
    values: tuple[float, ...]
    along: str
    """What the places are: `message_bytes`, `time_s`, `clock`."""
    along_unit: str = ""
    at: tuple[float | str, ...]
    """Numbers make a curve, words make categories."""
    label: str = ""
    """The arm within one program, e.g. the name of a synchronisation."""
    kind: Literal["curve", "scatter", "frontier"] = "curve"
    """Of a scatter the places are measured as the values are: each label is one point. A frontier
    is a scatter of values that are better small over places that are better large."""
    moments: dict[str, float] = {}
    """What happened at which place, as a link's cut does along the time."""

    def __post_init__(self) -> None:
        """Errors: ValueError where a value has no place, or a place no value."""
        if len(self.values) != len(self.at):
            raise ValueError(f"{self.metric}: {len(self.values)} values at {len(self.at)} places")


class Failure(msgspec.Struct, frozen=True):
    """Why a repetition gave no figure: an unverified kernel, a time limit, a dead instance."""

    code: str
    message: str
    remedy: str = ""


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
    series: tuple[Series, ...] = ()
    warnings: tuple[Warning, ...] = ()
    failure: Failure | None = None
    spent_s: float | None = None
    """How much of the run's time limit was spent when it was recorded, over all starts; None: an
    aferir before 0.2."""
