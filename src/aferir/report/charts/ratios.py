"""Ratios to the baseline with their intervals, one row for each group and environment."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from aferir.report.charts.style import (
    HATCH,
    INK,
    MUTED,
    environment_colour,
    labelled,
    note,
    plain_axis,
    render,
)
from aferir.report.formatting import change
from aferir.report.model import CellResult, Evaluation

FAR = 2.0
"""From this ratio on (or below its inverse) a row goes to a logarithmic panel of its own: on
one axis with 38 times, the difference between +1 % and +5 % would not be seen."""


def ratio_chart(evaluation: Evaluation) -> str:
    """The chart as SVG; empty where there is no ratio at all."""
    rows = [cell for cell in evaluation.cells if cell.ratio and cell.ratio.estimate is not None]
    if not rows:
        return ""
    near = [cell for cell in rows if not _far(cell)]
    far = [cell for cell in rows if _far(cell)]
    panels = [(part, part is far) for part in (near, far) if part]

    def draw(figure: Figure) -> None:
        heights = [len(part) + 1.2 for part, _ in panels]
        grid = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)
        for axes, (part, is_far) in zip(grid[:, 0], panels, strict=True):
            _panel(axes, part, evaluation, logarithmic=is_far)

    return render(
        draw,
        height=0.75 * len(panels) + 0.27 * len(rows),
        name="ratios",
        title=f"Duration as a ratio to {evaluation.baseline}",
        description="; ".join(_words(cell) for cell in rows),
    )


def _far(cell: CellResult) -> bool:
    assert cell.ratio is not None
    estimate = cell.ratio.estimate
    assert estimate is not None
    return not 1 / FAR < estimate < FAR


def _words(cell: CellResult) -> str:
    assert cell.ratio is not None
    name = labelled(cell.environment, cell.emulated)
    shown = change(cell.ratio.estimate, cell.ratio.interval)
    return f"{cell.group}, {name}: {shown}, n = {cell.ratio.n}"


def _percent_tick(ratio: float, _: int | None) -> str:
    share = round(100 * (ratio - 1), 6)
    return f"{share:+g} %" if share else "0"


def _panel(
    axes: Axes, cells: Sequence[CellResult], evaluation: Evaluation, *, logarithmic: bool
) -> None:
    if logarithmic:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g} times"))
    else:
        axes.xaxis.set_major_formatter(FuncFormatter(_percent_tick))
    plain_axis(axes, [f"{c.group} · {labelled(c.environment, c.emulated)}" for c in cells])
    axes.set_xlim(*_limits(cells, logarithmic=logarithmic))
    axes.axvline(1, color=INK, linewidth=1, zorder=2)
    threshold = evaluation.rule.threshold
    if not logarithmic:
        axes.axvspan(1 / (1 + threshold), 1 + threshold, color=MUTED, alpha=0.13, linewidth=0)
    for row, cell in enumerate(cells):
        _row(axes, row, cell, environment_colour(evaluation.environments.index(cell.environment)))
    scale = ", logarithmic" if logarithmic else ""
    axes.set_xlabel(f"duration against {evaluation.baseline}{scale}")


def _row(axes: Axes, row: int, cell: CellResult, colour: str) -> None:
    ratio = cell.ratio
    assert ratio is not None
    assert ratio.estimate is not None
    if cell.emulated:
        axes.barh(
            row,
            ratio.estimate - 1,
            left=1,
            height=0.5,
            facecolor="none",
            edgecolor=colour,
            hatch=HATCH,
            linewidth=0.8,
            zorder=2,
        )
    if ratio.interval is not None:
        ends = [ratio.interval.low, ratio.interval.high]
        axes.plot(ends, [row, row], color=colour, linewidth=2.4, zorder=3, solid_capstyle="butt")
    axes.plot([ratio.estimate], [row], marker="o", markersize=6, color=colour, zorder=4)
    note(axes, row, f"{change(ratio.estimate, ratio.interval)} · n = {ratio.n}")


def _limits(cells: Sequence[CellResult], *, logarithmic: bool) -> tuple[float, float]:
    """Room for every estimate and for reasonable intervals; wilder ones run off the axis."""
    ends = [1.0]
    reach = 4.0 if logarithmic else 1.6
    for cell in cells:
        assert cell.ratio is not None
        estimate = cell.ratio.estimate
        assert estimate is not None
        ends.append(estimate)
        if cell.ratio.interval is not None:
            ends.append(max(cell.ratio.interval.low, estimate / reach))
            ends.append(min(cell.ratio.interval.high, estimate * reach))
    low, high = min(ends), max(ends)
    if logarithmic:
        return low / 1.15, high * 1.15
    room = max(0.06 * (high - low), 0.004)
    return low - room, high + room
