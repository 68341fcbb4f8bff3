"""A figure over many runs: series of equal work, their change points, and what changed there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec
import numpy as np

from aferir.report.formatting import change, instant, metric_name, p_value, quantity
from aferir.statistics.arrays import quantile
from aferir.statistics.changes import FEW, LEAST, LEVEL, Change, change_points
from aferir.store.history import Conditions, RunFigure, Unread

By = Literal["run", "commit", "kernel", "host"]
NEAR = 2
"""Number of runs around a change point in which conditions are compared: benchmarks/history finds
at least 19 of 20 changes within 2 runs of their true place.
"""
_SHORT = 10
"""Number of hexadecimal digits of a commit that sentences show."""


class Altered(msgspec.Struct, frozen=True, kw_only=True):
    """A condition, such as the kernel, that changes between two runs near a change point."""

    what: Literal["commit", "kernel", "version"]
    before: str
    after: str
    run: str
    """First run in which the condition is `after`."""
    distance: int
    """Number of runs from the change point to `run`; 0: the same run, below 0: an earlier one."""


class Brought(msgspec.Struct, frozen=True, kw_only=True):
    """A change point with its run, and the conditions that changed near it."""

    change: Change
    first: Conditions
    """Conditions of the first run after the change."""
    last: Conditions
    """Conditions of the last run before the change."""
    altered: tuple[Altered, ...]
    text: str


class Bucket(msgspec.Struct, frozen=True, kw_only=True):
    """Runs with the same commit, kernel or host, in the order of their first run."""

    name: str
    runs: int
    median: float
    quantile_25: float
    quantile_75: float


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """Runs of the same work, the oldest first."""

    experiment: str
    group: str
    environment: str
    work: str
    host: str
    """Host of all runs; empty if the series is divided by host."""
    unit: str
    runs: tuple[RunFigure, ...]
    changes: tuple[Brought, ...]
    """Change points, if the series consists of runs."""
    buckets: tuple[Bucket, ...]
    """Runs in groups, if the series consists of commits, kernels or hosts."""

    @property
    def name(self) -> str:
        """Group and environment, as charts and sentences name the series."""
        return f"{self.group} · {self.environment}"


class History(msgspec.Struct, frozen=True, kw_only=True):
    """A figure over the runs of a folder."""

    metric: str
    ratio: bool
    """True if the figure is a ratio to the baseline of the same run."""
    by: By
    level: float = LEVEL
    """Largest p value at which a change point is reported."""
    series: tuple[Series, ...]
    unread: tuple[Unread, ...]


def history(
    figures: Sequence[RunFigure],
    unread: Sequence[Unread] = (),
    *,
    metric: str,
    ratio: bool = False,
    by: By = "run",
) -> History:
    """Divide figures into series, by experiment, group, environment, kind of work and host.

    In a history by host, a series contains all hosts. `figures` are in the order of time.
    """
    found: dict[tuple[str, ...], list[RunFigure]] = {}
    for one in figures:
        host = "" if by == "host" else one.conditions.host
        key = (one.experiment, one.group, one.environment, one.work, host)
        found.setdefault(key, []).append(one)
    return History(
        metric=metric,
        ratio=ratio,
        by=by,
        series=tuple(_series(key, runs, by) for key, runs in found.items()),
        unread=tuple(unread),
    )


def _series(key: tuple[str, ...], runs: Sequence[RunFigure], by: By) -> Series:
    experiment, group, environment, work, host = key
    return Series(
        experiment=experiment,
        group=group,
        environment=environment,
        work=work,
        host=host,
        unit=runs[0].unit,
        runs=tuple(runs),
        changes=tuple(_changes(runs)) if by == "run" else (),
        buckets=() if by == "run" else tuple(_buckets(runs, by)),
    )


def _changes(runs: Sequence[RunFigure]) -> list[Brought]:
    return [_brought(one, runs) for one in change_points(np.array([run.value for run in runs]))]


def _brought(one: Change, runs: Sequence[RunFigure]) -> Brought:
    first, last = runs[one.at].conditions, runs[one.at - 1].conditions
    altered = [
        Altered(
            what=what,
            before=before,
            after=after,
            run=runs[k].conditions.run,
            distance=k - one.at,
        )
        for k in range(max(one.at - NEAR, 1), min(one.at + NEAR, len(runs) - 1) + 1)
        for what, of in _CONDITIONS.items()
        if (before := of(runs[k - 1].conditions)) != (after := of(runs[k].conditions))
    ]
    altered.sort(key=lambda other: abs(other.distance))
    return Brought(
        change=one,
        first=first,
        last=last,
        altered=tuple(altered),
        text=_sentence(one, first, runs[0].unit, altered),
    )


_CONDITIONS: dict[Literal["commit", "kernel", "version"], Callable[[Conditions], str]] = {
    "commit": lambda one: one.commit,
    "kernel": lambda one: one.kernel,
    "version": lambda one: one.version,
}
_NAMES = {"commit": "commit", "kernel": "kernel", "version": "version of aferir"}


def _sentence(one: Change, first: Conditions, unit: str, altered: Sequence[Altered]) -> str:
    shown = "a shift" if one.ratio is None else change(one.ratio)
    ends = (
        f"{_value(one.before, unit)} over {one.n_before} runs before, "
        f"{_value(one.after, unit)} over {one.n_after} after"
    )
    when = instant(first.started_unix_ns)
    said = f"{shown} from {first.run} on ({when}; p = {p_value(one.p_value)}): {ends}."
    if not altered:
        return f"{said} Commit, kernel and version of aferir are the same on both sides."
    return f"{said} {' '.join(_said(other) for other in altered)}"


def _said(one: Altered) -> str:
    before, after = shortened(one.what, one.before), shortened(one.what, one.after)
    what = f"{_NAMES[one.what]} {before} became {after}"
    if one.distance == 0:
        return f"With it, {what}."
    runs = "1 run" if abs(one.distance) == 1 else f"{abs(one.distance)} runs"
    return f"{runs} {'later' if one.distance > 0 else 'earlier'}, {what}."


def shortened(what: str, name: str) -> str:
    """First digits of a commit; other values unchanged; a word for an unknown value."""
    if not name:
        return "unknown"
    if what != "commit":
        return name
    commit, _, dirty = name.partition("-")
    return f"{commit[:_SHORT]}-{dirty}" if dirty else commit[:_SHORT]


def _value(value: float, unit: str) -> str:
    return quantity(value, unit) if unit else change(value)


def _buckets(runs: Sequence[RunFigure], by: By) -> list[Bucket]:
    found: dict[str, list[float]] = {}
    for run in runs:
        name = getattr(run.conditions, by)
        found.setdefault(name, []).append(run.value)
    return [_bucket(shortened(by, name), sorted(values)) for name, values in found.items()]


def _bucket(name: str, values: Sequence[float]) -> Bucket:
    return Bucket(
        name=name,
        runs=len(values),
        median=quantile(values, 0.5),
        quantile_25=quantile(values, 0.25),
        quantile_75=quantile(values, 0.75),
    )


def no_change(runs: int) -> str:
    """Sentence about a series without a change point; in few runs, one may have been missed."""
    if runs < 2 * LEAST:
        return f"Too few runs for a change point: it takes {LEAST} on either side."
    if runs < FEW:
        return "No change point; in so few runs even a clear one is often missed."
    return "No change point."


def figure_name(told: History) -> str:
    """The figure in words: `duration`, or `duration against the baseline`."""
    name = metric_name(told.metric)
    return f"{name} against the baseline" if told.ratio else name
