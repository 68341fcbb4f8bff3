"""Charts of every counted duration, jittered, with a box of quartiles, by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from aferir.report.charts.rows import Bar, Drawn, Panel, Point, Row, Tick, rows_chart
from aferir.report.charts.scales import Axis, time_ticks
from aferir.report.formatting import labelled, quantity, quantity_interval
from aferir.report.marks import places
from aferir.report.model import CellResult, Evaluation

FAR = 2.5
"""An environment gets its own axis if its median is at least this many times the group's smallest:
otherwise the points of the others would merge into one.
"""
_JITTER = 0.28
MOST = 500
"""Marks in a row, which is about as many pixels wide. With all of a million samples, 4,400 marks in
each of 24 rows, a page had 10 MB, and a browser needed 10 s to show it on a busy machine.
"""


def distribution_charts(evaluation: Evaluation) -> tuple[str, ...]:
    """One SVG for each group with results, so that a printed page can break between them."""
    marks = places(evaluation.environments)
    by_group: dict[str, list[CellResult]] = {group: [] for group in evaluation.groups}
    for cell in evaluation.cells:
        if cell.points:
            by_group[cell.group].append(cell)
    return tuple(
        _chart(group, cells, marks, f"distribution-{place}")
        for place, (group, cells) in enumerate(by_group.items())
        if cells
    )


def _chart(group: str, cells: list[CellResult], marks: Mapping[str, int], name: str) -> str:
    rng = np.random.default_rng(0)
    panels = [_panel(part, marks, rng) for part in _parts(cells)]
    described = "; ".join(f"{row.label}: {row.note}" for panel in panels for row in panel.rows)
    first = Panel(rows=panels[0].rows, axis=panels[0].axis, title=group)
    return rows_chart(
        [first, *panels[1:]],
        name=name,
        title=f"Durations of all repetitions of {group}",
        description=described,
    )


def _parts(cells: list[CellResult]) -> list[list[CellResult]]:
    medians = [c.duration.median for c in cells if c.duration.median is not None]
    limit = FAR * min(medians)
    near = [c for c in cells if c.duration.median is not None and c.duration.median <= limit]
    return [part for part in (near, [c for c in cells if c not in near]) if part]


def _panel(
    cells: Sequence[CellResult], marks: Mapping[str, int], rng: np.random.Generator
) -> Panel:
    limit = max(max(_reach(cell), cell.duration.quantile_75 or 0.0) for cell in cells)
    least = min(cell.duration.minimum or limit for cell in cells)
    room = 0.05 * (limit - least) or 0.01 * limit
    return Panel(
        rows=tuple(_row(cell, marks[cell.environment], limit, rng) for cell in cells),
        axis=Axis(least - room, limit + room, time_ticks(least, limit)),
    )


def _row(cell: CellResult, place: int, limit: float, rng: np.random.Generator) -> Row:
    summary = cell.duration
    low, high, median = summary.quantile_25, summary.quantile_75, summary.median
    assert low is not None
    assert high is not None
    assert median is not None
    every = [point.value for point in cell.points]
    beyond = sum(value > limit for value in every)
    values = _thinned(every)
    shifts = rng.uniform(-_JITTER, _JITTER, len(values)).tolist()
    drawn: list[Drawn] = [Bar(low, high, f"box e{place}")]
    if cell.emulated:
        drawn.append(Bar(low, high, "plain", hatched=True))
    drawn += [Point(v, place, 0.62, s) for v, s in zip(values, shifts, strict=True) if v <= limit]
    drawn.append(Tick(median))
    return Row(
        label=labelled(cell.environment, cell.emulated),
        note=_note(cell, beyond),
        place=place,
        drawn=tuple(drawn),
    )


def _thinned(values: list[float]) -> list[float]:
    """The values or, of more than `MOST`, as many that are evenly spaced by rank."""
    if len(values) <= MOST:
        return values
    ranks = np.linspace(0, len(values) - 1, MOST).round().astype(int)
    return [float(value) for value in np.sort(values)[ranks]]


def _reach(cell: CellResult) -> float:
    """Largest value on the axis; outliers beyond it would compress all other points."""
    values = np.array([point.value for point in cell.points])
    median = float(np.median(values))
    spread = float(np.median(np.abs(values - median)))
    reach = max(median + 12 * spread, cell.duration.quantile_75 or 0.0)
    return float(values[values <= reach].max()) if spread > 0 else float(values.max())


def _note(cell: CellResult, beyond: int) -> str:
    duration = cell.duration
    median = quantity_interval(duration.median, duration.median_interval, "s")
    text = f"median {median} · n = {duration.n}"
    if beyond:
        text += f"\n▸ {beyond} beyond, up to {quantity(duration.maximum, 's')}"
    return text
