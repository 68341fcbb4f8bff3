"""Costs of I/O: where the time of all cores went, cycles by layer, joules by idle power."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter, NullLocator

from aferir.report.charts.style import (
    HATCH,
    INK,
    MUTED,
    SURFACE,
    note,
    plain_axis,
    render,
    state_colour,
)
from aferir.report.formatting import labelled, quantity
from aferir.report.model import IoCell, IoProjection, IoStudy
from aferir.statistics.scaling import Projection

_STATES = {
    "user": ("user", "user"),
    "system": ("system", "system"),
    "virtual": ("virtualisation", "steal"),
    "iowait": ("iowait", "iowait"),
    "idle": ("idle", "idle"),
}
_LAYERS = {
    "user": ("user", "user"),
    "os": ("operating system", "system"),
    "vm": ("virtualisation", "steal"),
}
"""Name in the legend, and the state of the CPU whose colour it has."""
_MARKS = ("o", "D", "s", "^", "v")
FAR = 2.5
"""An environment that costs this many times its group's least gets an axis of its own."""
_Row = tuple[IoCell, Mapping[str, float], str]
_Parts = Mapping[str, tuple[str, str]]


class IoChart(msgspec.Struct, frozen=True):
    """Pictures under one heading, drawn when they are asked for."""

    title: str
    caption: str
    draw: Callable[[], tuple[str, ...]]


def io_charts(study: IoStudy) -> list[IoChart]:
    """All of them."""
    return [
        IoChart(
            "Time of all cores",
            "Means over repetitions of what each instance itself used while its program ran; what "
            "is left of all cores' time is idle or waits for I/O.",
            lambda: (_split(study),),
        ),
        IoChart(
            "Cycles per operation by layer",
            "Cycles over operations of 512 bytes, by who spent them, and their sum with its "
            "standard uncertainty. Each program has an axis of its own, and so has an environment "
            "that costs far more than the others.",
            lambda: _layers(study),
        ),
        IoChart(
            "Energy per operation",
            "A mark for each power of the idle server, as a share of its peak: the longer the "
            "line, the more hangs on it. The axis is logarithmic; bars are standard uncertainties.",
            lambda: (_energy(study),),
        ),
        *[_growing(one, place) for place, one in enumerate(study.projections)],
    ]


def _growing(projection: IoProjection, place: int) -> IoChart:
    refused = f" No law is drawn: {projection.note}." if projection.note else ""
    return IoChart(
        f"System cycles per operation, {projection.workload} in {projection.environment}",
        f"Over those on the fewest cores; means over repetitions.{refused}",
        lambda: (_growth(projection, place),),
    )


def _label(cell: IoCell) -> str:
    return f"{cell.group} \u00b7 {labelled(cell.environment, cell.emulated)}"


def _split(study: IoStudy) -> str:
    rows = [(cell, cell.states_percent, f"n = {cell.n}") for cell in study.cells]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        _stack(axes, rows, _STATES, [_label(cell) for cell in study.cells])
        axes.set_xlim(0, 100)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:.0f} %"))
        _legend(figure, rows, _STATES)

    return render(
        draw,
        height=1.1 + 0.28 * len(rows),
        name="io-split",
        title="Where the time of all cores went",
        description=_words(rows, _STATES),
    )


def _layers(study: IoStudy) -> tuple[str, ...]:
    """One for each group, the legend above the first."""
    rows = [
        (cell, cell.layers, f"{cell.cpio.value:,.0f} \u00b1 {cell.cpio.error:,.0f}")
        for cell in study.cells
    ]
    groups = dict.fromkeys(cell.group for cell in study.cells)
    return tuple(
        _layers_of(group, place, [row for row in rows if row[0].group == group], rows)
        for place, group in enumerate(groups)
    )


def _layers_of(group: str, place: int, own: Sequence[_Row], rows: Sequence[_Row]) -> str:
    least = FAR * min(cell.cpio.value for cell, _, _ in own)
    near = [row for row in own if row[0].cpio.value <= least]
    panels = [part for part in (near, [row for row in own if row not in near]) if part]

    def draw(figure: Figure) -> None:
        heights = [len(part) + 1.0 for part in panels]
        grid = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)
        for axes, part in zip(grid[:, 0], panels, strict=True):
            names = [labelled(cell.environment, cell.emulated) for cell, _, _ in part]
            _stack(axes, part, _LAYERS, names)
            axes.set_xlim(0, 1.02 * max(cell.cpio.value for cell, _, _ in part))
            axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
            axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.5g}"))
        grid[0, 0].set_title(group, loc="left", fontsize=9, fontweight="bold")
        grid[-1, 0].set_xlabel("cycles per operation")
        if place == 0:
            _legend(figure, rows, _LAYERS)

    return render(
        draw,
        height=(0.75 if place == 0 else 0.45) + 0.33 * len(panels) + 0.3 * len(own),
        name=f"io-layers-{place}",
        title=f"Cycles per operation of {group} by layer",
        description=_words(own, _LAYERS),
    )


def _shown(rows: Sequence[_Row], parts: _Parts) -> list[str]:
    return [part for part in parts if any(values.get(part, 0) > 0 for _, values, _ in rows)]


def _words(rows: Sequence[_Row], parts: _Parts) -> str:
    return "; ".join(
        f"{_label(cell)}: "
        + ", ".join(f"{parts[p][0]} {values[p]:.4g}" for p in _shown(rows, parts))
        for cell, values, _ in rows
    )


def _stack(axes: Axes, rows: Sequence[_Row], parts: _Parts, names: list[str]) -> None:
    """Bars one after the other, a row for each cell, its figures at the right."""
    plain_axis(axes, names)
    for row, (cell, values, text) in enumerate(rows):
        left = 0.0
        for part in _shown(rows, parts):
            colour = state_colour(parts[part][1])
            axes.barh(row, values[part], left=left, height=0.66, facecolor=colour, zorder=2)
            left += values[part]
        if cell.emulated:
            axes.barh(
                row, left, height=0.66, facecolor="none", edgecolor=MUTED, hatch=HATCH, zorder=3
            )
        note(axes, row, text)


def _legend(figure: Figure, rows: Sequence[_Row], parts: _Parts) -> None:
    handles = [
        Patch(facecolor=state_colour(parts[part][1]), label=parts[part][0])
        for part in _shown(rows, parts)
    ]
    if any(cell.emulated for cell, _, _ in rows):
        handles.append(
            Patch(facecolor="none", edgecolor=MUTED, hatch=HATCH, label="emulated in software")
        )
    figure.legend(handles=handles, loc="outside upper left", ncols=len(handles), fontsize=8.5)


def _energy(study: IoStudy) -> str:
    idle = study.server.idle_fractions

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        plain_axis(axes, [_label(cell) for cell in study.cells])
        axes.set_xscale("log")
        for row, cell in enumerate(study.cells):
            values = [one.value for one in cell.eio_j]
            axes.plot([min(values), max(values)], [row, row], color=MUTED, linewidth=1, zorder=2)
            for mark, one in zip(_MARKS, cell.eio_j, strict=False):
                axes.errorbar(
                    one.value,
                    row,
                    xerr=min(one.error, 0.9 * one.value),
                    marker=mark,
                    markersize=6,
                    color=INK,
                    markeredgecolor=SURFACE,
                    linewidth=1,
                    zorder=3,
                )
            note(axes, row, " \u2013 ".join(quantity(value, "J") for value in values))
        low = min(one.value for cell in study.cells for one in cell.eio_j)
        high = max(one.value + one.error for cell in study.cells for one in cell.eio_j)
        axes.set_xlim(low / 1.5, high * 1.5)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: quantity(x, "J")))
        axes.xaxis.set_minor_formatter(FuncFormatter(lambda *_: ""))
        handles = [
            Line2D(
                [],
                [],
                marker=mark,
                linestyle="",
                color=INK,
                label=f"idle power {100 * share:.0f} %",
            )
            for mark, share in zip(_MARKS, idle, strict=False)
        ]
        figure.legend(handles=handles, loc="outside upper left", ncols=len(handles), fontsize=8.5)

    words = "; ".join(
        f"{_label(cell)}: " + ", ".join(quantity(one.value, "J") for one in cell.eio_j)
        for cell in study.cells
    )
    return render(
        draw,
        height=1.1 + 0.28 * len(study.cells),
        name="io-energy",
        title="Energy per operation by idle power",
        description=words,
    )


def _growth(projection: IoProjection, place: int) -> str:
    """Measured costs, and the laws through them as far as each may be projected."""
    measured = projection.measured
    first = measured[min(measured)]
    laws = [
        (name, law, style)
        for name, law, style in (("USL", projection.usl, "-"), ("linear", projection.linear, "--"))
        if law is not None
    ]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        times = [cost / first for cost in measured.values()]
        axes.plot(list(measured), times, "o", color=INK, label="measured", zorder=3)
        for name, law, style in laws:
            _law(axes, law, max(measured), name, style)
        if any(not law.refused for _, law, _ in laws):
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_xticks([1, 10, 100, 1000])
            axes.yaxis.set_minor_formatter(NullFormatter())
        else:
            axes.set_xticks(list(measured))
            axes.set_ylim(0, 1.1 * max(times))
        axes.xaxis.set_minor_locator(NullLocator())
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.4g}"))
        axes.set_xlabel("cores")
        axes.set_ylabel("times the cost on one core")
        axes.grid(visible=True)
        figure.legend(loc="outside upper left", ncols=len(laws) + 1, fontsize=8.5)

    words = ", ".join(f"{cores} cores: {cost:.4g} cycles" for cores, cost in measured.items())
    return render(
        draw,
        height=3.2,
        name=f"io-growth-{place}",
        title=f"Growth of system cycles per operation of {projection.workload}",
        description=words,
    )


def _law(axes: Axes, law: Projection, largest: int, name: str, style: str) -> None:
    """Up to where it is projected, with its interval there, or to the largest size measured."""
    last = largest if law.refused else law.cores
    cores = np.geomspace(1, last, 101)
    growth = [law.law.at(n) / law.law.first for n in cores]
    said = "not projected" if law.refused else f"[{law.low:.3g}, {law.high:.3g}] at {law.cores:,}"
    axes.plot(cores, growth, style, color=MUTED, label=f"{name}, {said}")
    if not law.refused:
        axes.vlines(law.cores, law.low, law.high, color=MUTED, linewidth=3, alpha=0.6)
