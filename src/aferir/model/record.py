"""Measurements: samples, warnings, and the record of one finished repetition."""

from __future__ import annotations

from typing import Literal

import msgspec

from aferir.model.stamps import Stamp

Side = Literal["program", "host", "instance", "environment"]
"""Source of a sample: the program's own output, a probe on the host, a probe inside the instance,
or the allocation by the environment.
"""
TIME = "time_s"
"""Value of `Series.along` for series over time, whose places are in s from their beginning."""
GUESTS_EMULATED = "guests-emulated"
"""Code of the warning that guests which the program itself started were emulated in software."""
MISSING = "missing"
"""Code of the failure that an environment lacks the program: it would fail in every repetition."""
Better = Literal["", "lower", "higher"]
"""Direction in which a figure is better; empty: not declared."""


class Warning(msgspec.Struct, frozen=True, order=True):
    """Typed doubt about a result, with advice; reports repeat it in every table with the result."""

    code: str
    """Code of the doubt, e.g. `emulated`, `load-of-others`, `outliers`, `autocorrelated`,
    `time-limit`.
    """
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
    """Many values of one repetition along another quantity, e.g. latency by message size.

    `values` and `at` have the same length. Repetitions with the same places are pooled.
    """

    metric: str
    """Metric of the values; its name ends in the unit's symbol as a sample's does: `latency_s`."""
    unit: str
    values: tuple[float, ...]
    along: str
    """Quantity of the places: `message_bytes`, `time_s`, `clock`."""
    along_unit: str = ""
    at: tuple[float | str, ...]
    """Places of the values; numbers make a curve, words make categories."""
    label: str = ""
    """Name of the arm within one program, e.g. of a synchronisation method."""
    kind: Literal["curve", "scatter", "frontier"] = "curve"
    """`curve`: values over given places. `scatter`: places are measured too, and each label is one
    point. `frontier`: a scatter in which small values and large places are better.
    """
    began: Stamp | None = None
    """Time on our clock at which `time_s` is 0, in series along time; None: unknown. Its bound
    holds for the times of all values.
    """
    moments: dict[str, float] = {}
    """Events by name, with the place of each, e.g. the time at which a link was cut."""

    def __post_init__(self) -> None:
        """Raise ValueError if `values` and `at` have different lengths."""
        if len(self.values) != len(self.at):
            raise ValueError(f"{self.metric}: {len(self.values)} values at {len(self.at)} places")

    def moment(self, place: float | str) -> Stamp | None:
        """Time on our clock of the value at `place`; None if it is unknown."""
        if self.began is None or self.along != TIME or isinstance(place, str):
            return None
        return Stamp(self.began.unix_ns + round(place * 1e9), self.began.bound_ns)


class Failure(msgspec.Struct, frozen=True):
    """Why a repetition has no figures: an unverified kernel, a time limit, a dead instance."""

    code: str
    message: str
    remedy: str = ""


ALLOCATION = "allocation"
"""Group and workload in the records of allocations."""


def allocation_cell(environment: str) -> str:
    """Id under which the allocations of an environment are recorded."""
    return f"{environment}/{ALLOCATION}"


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One finished repetition of one cell; (cell, repetition, warmup) occurs once in a run.

    An allocation is recorded in the same form, with the cell of `allocation_cell`.
    """

    cell: str
    group: str
    environment: str
    workload: str
    factors: dict[str, str | int | float | bool] = {}
    repetition: int
    warmup: bool = False
    started_unix_ns: int
    began: Stamp | None = None
    """Start of the program, or of an allocation's first phase, on our clock, also if it was on
    another host; None: unknown. The record's samples are of the time from then on.
    """
    command: tuple[str, ...] = ()
    samples: tuple[Sample, ...] = ()
    series: tuple[Series, ...] = ()
    warnings: tuple[Warning, ...] = ()
    failure: Failure | None = None
    spent_s: float | None = None
    """Part of the run's time limit in s used when it was recorded, over all starts; None in runs of
    versions before 0.2.
    """
