"""Where the CPUs' time went, stacked to 100 %."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter

from aferir.model.record import Side
from aferir.report.charts.style import (
    HATCH,
    MUTED,
    STATES,
    SURFACE,
    environment_colour,
    labelled,
    note,
    plain_axis,
    render,
    state_colour,
)
from aferir.report.formatting import percent
from aferir.report.model import CellResult, CpuSplit, Evaluation

_Row = tuple[CellResult, CpuSplit]


def cpu_chart(evaluation: Evaluation, side: Side) -> str:
    """The chart of one side as SVG; empty where no probe looked from there."""
    rows = [(cell, split) for cell in evaluation.cells for split in cell.cpu if split.side == side]
    if not rows:
        return ""
    shown = [state for state in STATES if any(split.states.get(state, 0) for _, split in rows)]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        _bars(axes, rows, shown, evaluation.environments)
        handles = [Patch(facecolor=state_colour(state), label=state) for state in shown]
        if any(cell.emulated for cell, _ in rows):
            handles.append(
                Patch(facecolor="none", edgecolor=MUTED, hatch=HATCH, label="emulated in software")
            )
        figure.legend(handles=handles, loc="outside upper left", ncols=len(handles), fontsize=8.5)

    return render(
        draw,
        height=0.85 + 0.28 * len(rows),
        name=f"cpu-{side}",
        title=f"CPU time by state, seen from the {side}",
        description="; ".join(_words(cell, split) for cell, split in rows),
    )


def _words(cell: CellResult, split: CpuSplit) -> str:
    shares = ", ".join(f"{state} {percent(value / 100)}" for state, value in split.states.items())
    return f"{cell.group}, {labelled(cell.environment, cell.emulated)}: {shares}, n = {split.n}"


def _bars(
    axes: Axes, rows: Sequence[_Row], shown: Sequence[str], environments: Sequence[str]
) -> None:
    plain_axis(axes, [f"{c.group} · {labelled(c.environment, c.emulated)}" for c, _ in rows])
    for label, (cell, _) in zip(axes.get_yticklabels(), rows, strict=True):
        label.set_color(environment_colour(environments.index(cell.environment)))
    for row, (cell, split) in enumerate(rows):
        left = 0.0
        for state in shown:
            width = split.states.get(state, 0.0)
            axes.barh(
                row,
                width,
                left=left,
                height=0.66,
                facecolor=state_colour(state),
                edgecolor=SURFACE,
                # An edge would swallow a thin slice.
                linewidth=0.6 if width > 2 else 0,
                zorder=2,
            )
            left += width
        if cell.emulated:
            axes.barh(
                row, left, height=0.66, facecolor="none", edgecolor=MUTED, hatch=HATCH, zorder=3
            )
        note(axes, row, f"n = {split.n}")
    axes.set_xlim(0, 100)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:.0f} %"))
