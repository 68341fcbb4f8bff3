"""Every duration that counts, jittered, with the box of its quartiles, group by group."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from aferir.report.charts.style import (
    HATCH,
    INK,
    SURFACE,
    environment_colour,
    labelled,
    note,
    plain_axis,
    render,
    time_axis,
)
from aferir.report.formatting import quantity, quantity_interval
from aferir.report.model import CellResult, Evaluation

FAR = 2.5
"""An environment whose median is this many times its group's smallest gets an axis of its own,
or the points of the others would fall into one."""


def distribution_charts(evaluation: Evaluation) -> list[str]:
    """One chart as SVG for each group with results, so that a printed page can break between."""
    found = []
    for place, group in enumerate(evaluation.groups):
        cells = [c for c in evaluation.cells if c.group == group and c.points]
        if cells:
            found.append(_chart(evaluation, group, _parts(cells), f"distribution-{place}"))
    return found


def _chart(evaluation: Evaluation, group: str, parts: list[list[CellResult]], name: str) -> str:
    rng = np.random.default_rng(0)

    def draw(figure: Figure) -> None:
        heights = [len(cells) + 1.0 for cells in parts]
        grid = figure.subplots(len(parts), 1, squeeze=False, height_ratios=heights)
        for axes, cells in zip(grid[:, 0], parts, strict=True):
            _panel(axes, cells, evaluation, rng)
        grid[0, 0].set_title(group, loc="left", fontsize=9, fontweight="bold")

    rows = [cell for cells in parts for cell in cells]
    return render(
        draw,
        height=0.25 + 0.33 * len(parts) + 0.36 * len(rows),
        name=name,
        title=f"Durations of all repetitions of {group}",
        description="; ".join(
            f"{labelled(c.environment, c.emulated)}: median "
            f"{quantity(c.duration.median, 's')}, n = {c.duration.n}"
            for c in rows
        ),
    )


def _parts(cells: list[CellResult]) -> list[list[CellResult]]:
    medians = [c.duration.median for c in cells if c.duration.median is not None]
    if not medians:
        return []
    limit = FAR * min(medians)
    near = [c for c in cells if c.duration.median is not None and c.duration.median <= limit]
    return [part for part in (near, [c for c in cells if c not in near]) if part]


def _panel(
    axes: Axes, cells: Sequence[CellResult], evaluation: Evaluation, rng: np.random.Generator
) -> None:
    plain_axis(axes, [labelled(cell.environment, cell.emulated) for cell in cells])
    limit = max(max(_reach(cell), cell.duration.quantile_75 or 0.0) for cell in cells)
    edge = limit + 0.04 * (limit - min(cell.duration.minimum or limit for cell in cells))
    time_axis(axes)
    axes.use_sticky_edges = False  # a box would cut its point in half
    for row, cell in enumerate(cells):
        colour = environment_colour(evaluation.environments.index(cell.environment))
        values = np.array([point.value for point in cell.points])
        _box(axes, row, cell, colour)
        jitter = row + rng.uniform(-0.22, 0.22, values.size)
        beyond = values > limit
        point = partial(axes.scatter, color=colour, edgecolor=SURFACE, linewidth=0.5, zorder=4)
        point(values[~beyond], jitter[~beyond], s=17)
        point(np.full(beyond.sum(), edge), jitter[beyond], s=34, marker=">")
        note(axes, row, _note(cell, int(beyond.sum())))


def _reach(cell: CellResult) -> float:
    """Up to where points are drawn in their place: spikes of noise would squeeze all the others."""
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
        text += f"\n{beyond} beyond, up to {quantity(duration.maximum, 's')}"
    return text


def _box(axes: Axes, row: int, cell: CellResult, colour: str) -> None:
    summary = cell.duration
    low, high, median = summary.quantile_25, summary.quantile_75, summary.median
    assert low is not None
    assert high is not None
    assert median is not None
    axes.barh(
        row,
        high - low,
        left=low,
        height=0.62,
        facecolor=colour,
        alpha=0.18,
        linewidth=0,
        zorder=2,
    )
    if cell.emulated:
        axes.barh(
            row,
            high - low,
            left=low,
            height=0.62,
            facecolor="none",
            edgecolor=colour,
            hatch=HATCH,
            alpha=0.6,
            linewidth=0.4,
            zorder=2,
        )
    axes.plot([median, median], [row - 0.34, row + 0.34], color=INK, linewidth=1.6, zorder=3)
