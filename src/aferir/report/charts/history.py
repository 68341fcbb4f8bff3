"""Chart of a figure over runs with its change points, or over commits, kernels and hosts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from aferir.report.charts.plane import Drawn, Moment, Path, Spot, plane_chart
from aferir.report.charts.rows import Line, Panel, Point, Row, rows_chart
from aferir.report.charts.scales import Axis, fitting
from aferir.report.formatting import change, quantity
from aferir.report.history import History, Series, figure_name

TICKS = 6
"""Dates below the axis: with more, they would overlap on a page of one column."""
_MARKED = 80
"""Largest number of runs of which each has a mark beside the line."""


def history_charts(told: History) -> list[str]:
    """One chart as SVG for each series."""
    draw = _over_runs if told.by == "run" else _over_buckets
    return [draw(told, one, f"history-{place}") for place, one in enumerate(told.series)]


def _title(told: History, one: Series) -> str:
    host = f", on {one.host}" if one.host else ""
    return f"{one.name}: {figure_name(told)} by {told.by}{host}"


def _over_runs(told: History, one: Series, name: str) -> str:
    """Runs at equal distances, with the median between change points as a level line."""
    values = [run.value for run in one.runs]
    edges = [0, *(found.change.at for found in one.changes), len(values)]
    levels = [found.change.before for found in one.changes]
    levels += [found.change.after for found in one.changes[-1:]]
    drawn: list[Drawn] = [
        Moment(found.change.at - 0.5, _words(found.change.ratio)) for found in one.changes
    ]
    drawn.append(Path(tuple((float(k), value) for k, value in enumerate(values)), "e0", wide=0.9))
    if len(values) <= _MARKED:
        drawn += [Spot((float(k), value), 0, size=0.6) for k, value in enumerate(values)]
    drawn += [
        Path(((low - 0.5, level), (high - 0.5, level)), "ink", wide=2.4)
        for low, high, level in zip(edges[:-1], edges[1:], levels, strict=False)
    ]
    return plane_chart(
        drawn,
        (_dates([run.conditions.started_unix_ns for run in one.runs]), _values(one, values)),
        name=name,
        title=_title(told, one),
        description="; ".join(found.text for found in one.changes) or "No change point.",
        below=f"{len(values)} runs, by the date of their start (UTC)",
    )


def _words(ratio: float | None) -> str:
    return "shift" if ratio is None else change(ratio)


def _dates(times: Sequence[int]) -> Axis:
    """Axis over the index of the run, whose ticks are dates."""
    last = len(times) - 1
    every = max(1, -(-len(times) // TICKS))
    dates = [datetime.fromtimestamp(at // 10**9, UTC) for at in times]
    form = "%H:%M" if dates[0].date() == dates[-1].date() else "%Y-%m-%d"

    def shown(place: float) -> str:
        return dates[min(max(round(place), 0), last)].strftime(form)

    ticks = tuple(float(k) for k in range(0, last + 1, every))
    return Axis(-0.8, last + 0.8, shown, at=ticks)


def _values(one: Series, values: Sequence[float]) -> Axis:
    if one.unit:
        return fitting(values, one.unit)
    low, high = min(values), max(values)
    room = 0.06 * (high - low) or 0.01
    return Axis(low - room, high + room, lambda value: change(value) if value != 1 else "0")


def _over_buckets(told: History, one: Series, name: str) -> str:
    ends = [v for b in one.buckets for v in (b.quantile_25, b.median, b.quantile_75)]
    rows = tuple(
        Row(
            label=f"{told.by} {bucket.name}",
            note=f"{_shown(bucket.median, one)} · {_runs(bucket.runs)}",
            drawn=(
                Line(bucket.quantile_25, bucket.quantile_75, "e0"),
                Point(bucket.median, 0),
            ),
        )
        for bucket in one.buckets
    )
    title = _title(told, one)
    return rows_chart(
        [Panel(rows=rows, axis=_values(one, ends), title=title, below="median and quartiles")],
        name=name,
        title=title,
        description="; ".join(f"{row.label}: {row.note}" for row in rows),
    )


def _shown(value: float, one: Series) -> str:
    return quantity(value, one.unit) if one.unit else change(value)


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"
