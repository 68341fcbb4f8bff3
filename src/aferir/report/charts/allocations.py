"""Phases of allocation, stacked, with the release below, and published results beside them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from aferir.report.charts.style import (
    GRID,
    HATCH,
    INK,
    MUTED,
    SURFACE,
    environment_colour,
    labelled,
    note,
    plain_axis,
    render,
    time_axis,
)
from aferir.report.formatting import metric_name, quantity, quantity_interval
from aferir.report.model import AllocationResult, Evaluation
from aferir.report.published import PublishedAllocation
from aferir.statistics.summary import Summary

_SHADES = {"placed_s": 0.25, "copied_s": 0.45, "booted_s": 0.7, "ready_s": 1.0}


def allocation_chart(evaluation: Evaluation, published: Sequence[PublishedAllocation] = ()) -> str:
    """The chart as SVG; empty where nothing was allocated.

    Each environment has a time axis of its own: a container takes milliseconds, a guest seconds,
    and stacked phases cannot be drawn on a logarithmic axis.
    """
    shown = [a for a in evaluation.allocations if a.total.n and a.total.mean]
    if not shown:
        return ""

    def draw(figure: Figure) -> None:
        heights = [2.0] * len(shown) + ([len(published) + 0.6] if published else [])
        grid = figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)
        for axes, allocation in zip(grid[:, 0], shown, strict=False):
            place = evaluation.environments.index(allocation.environment)
            _own(axes, allocation, environment_colour(place))
        if published:
            _others(grid[-1, 0], published)
        _legend(figure, shown)

    return render(
        draw,
        height=0.55 + 1.15 * len(shown) + (0.28 * len(published) + 0.6 if published else 0),
        name="allocations",
        title="Time to allocate and to release an instance",
        description="; ".join(_words(allocation) for allocation in shown),
    )


def _words(allocation: AllocationResult) -> str:
    name = labelled(allocation.environment, allocation.emulated)
    return f"{name}: {_figure(allocation.total)}"


def _figure(summary: Summary) -> str:
    return f"{quantity_interval(summary.mean, summary.mean_interval, 's')} · n = {summary.n}"


def _own(axes: Axes, allocation: AllocationResult, colour: str) -> None:
    plain_axis(axes, [labelled(allocation.environment, allocation.emulated), "release"])
    axes.get_yticklabels()[1].set_color(MUTED)
    emulated, total, release = allocation.emulated, allocation.total, allocation.release
    left = 0.0
    for phase in allocation.phases:
        right = left + (phase.summary.mean or 0.0)
        _bar(axes, 0, (left, right), (colour, _SHADES[phase.metric], emulated))
        left = right
    end = total.mean or 0.0
    # Phases that cannot be told apart are one bar; so is what lies between them.
    if end - left > 0.005 * end:
        _bar(axes, 0, (left, end), (MUTED if allocation.phases else colour, 0.3, emulated))
    if total.mean_interval is not None:
        whisker = [total.mean_interval.low, total.mean_interval.high]
        axes.plot(whisker, [0, 0], color=INK, linewidth=1.4, zorder=5)
    note(axes, 0, _figure(total))
    if release.n and release.mean is not None:
        _bar(axes, 1, (0, release.mean), (colour, 0.3, emulated))
        note(axes, 1, _figure(release))
    else:
        axes.text(0, 1, "not measured", va="center", fontsize=8.5, color=MUTED)
    axes.set_xlim(left=0)
    time_axis(axes)


def _bar(axes: Axes, row: int, ends: tuple[float, float], look: tuple[str, float, bool]) -> None:
    left, right = ends
    colour, alpha, emulated = look
    width, hatch = right - left, HATCH if emulated else None
    bar = partial(axes.barh, row, width, left=left, height=0.62)
    bar(facecolor=colour, alpha=alpha, linewidth=0)
    bar(facecolor="none", edgecolor=SURFACE, hatch=hatch, linewidth=0.8)


def _others(axes: Axes, published: Sequence[PublishedAllocation]) -> None:
    plain_axis(axes, [entry.label for entry in published])
    for row, entry in enumerate(published):
        axes.barh(
            row, entry.mean_s, height=0.5, facecolor=GRID, edgecolor=MUTED, linewidth=0.8, zorder=2
        )
        ends = [entry.mean_s - entry.sd_s, entry.mean_s + entry.sd_s]
        axes.plot(ends, [row, row], color=MUTED, linewidth=1.4, zorder=3)
        note(
            axes,
            row,
            f"{quantity(entry.mean_s, 's')} ± {quantity(entry.sd_s, 's')} (sd) · n = {entry.runs}",
        )
    axes.set_title(
        "Published: other machines, a cloud manager and images of 2.8 GB (Dutra 2015)",
        loc="left",
        fontsize=9,
        color=MUTED,
    )
    axes.set_xlim(left=0)
    time_axis(axes)


def _legend(figure: Figure, allocations: Sequence[AllocationResult]) -> None:
    present = {phase.metric for allocation in allocations for phase in allocation.phases}
    handles = [
        Patch(facecolor=INK, alpha=0.8 * shade, label=metric_name(metric))
        for metric, shade in _SHADES.items()
        if metric in present
    ]
    if any(allocation.emulated for allocation in allocations):
        handles.append(
            Patch(facecolor="none", edgecolor=MUTED, hatch=HATCH, label="emulated in software")
        )
    if handles:
        figure.legend(handles=handles, loc="outside upper left", ncols=len(handles), fontsize=8.5)
