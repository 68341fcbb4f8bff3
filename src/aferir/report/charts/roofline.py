"""Programs under a roofline: operations a second by operations a byte, both logarithmic."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from aferir.report.charts.style import INK, MUTED, environment_marker, render
from aferir.report.formatting import labelled, percent, quantity, scale
from aferir.report.model import Evaluation, Roofline
from aferir.statistics.roofline import Roof

_LEAST, _MOST = 0.05, 100.0
"""Operations a byte that the picture shows, unless a program is beyond."""
_NEAR = 1.8
"""A name is about as wide as this ratio on the axis."""


def roofline_charts(evaluation: Evaluation) -> list[str]:
    """One chart as SVG for each."""
    return [
        _chart(evaluation, roofline, f"roofline-{place}")
        for place, roofline in enumerate(evaluation.rooflines)
    ]


def _chart(evaluation: Evaluation, roofline: Roofline, name: str) -> str:
    environment = labelled(roofline.environment, roofline.emulated)
    title = f"{environment}{', ' if roofline.label else ''}{roofline.label}: roofline"
    place = evaluation.environments.index(roofline.environment)

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        axes.set_xscale("log")
        axes.set_yscale("log")
        _roofs(axes, roofline)
        _programs(axes, roofline, place)
        _axes(axes)
        axes.set_title(title, loc="left", fontsize=9, fontweight="bold")

    words = [
        f"{p.workload}: {quantity(p.flops, 'flop/s')}, {percent(p.share)} of the {p.limit} roof"
        for p in roofline.programs
    ]
    return render(draw, height=4.0, name=name, title=title, description="; ".join(words))


def _ends(roofline: Roofline) -> tuple[float, float]:
    known = [p.intensity for p in roofline.programs]
    return min([_LEAST, *(k / 2 for k in known)]), max([_MOST, *(k * 2 for k in known)])


def _roofs(axes: Axes, roofline: Roofline) -> None:
    roof = Roof(roofline.peak_flops, roofline.bandwidth_bps)
    low, high = _ends(roofline)
    corners = [low, min(max(roof.ridge, low), high), high]
    axes.plot(corners, [roof.at(c) for c in corners], color=INK, linewidth=1.6, zorder=2)
    axes.annotate(
        f"peak {quantity(roof.peak, 'flop/s')}",
        (high, roof.peak),
        (-4, 5),
        textcoords="offset points",
        ha="right",
        fontsize=8.5,
    )
    axes.annotate(
        f"memory {quantity(roof.bandwidth, 'B/s')}",
        (low, roof.at(low)),
        (8, 2),
        textcoords="offset points",
        va="top",
        fontsize=8.5,
    )


def _programs(axes: Axes, roofline: Roofline, place: int) -> None:
    for program in roofline.programs:
        at = program.intensity
        left = name_at_left(at, [other.intensity for other in roofline.programs])
        ends = [program.flops, program.roof_flops]
        axes.plot([at, at], ends, color=MUTED, linestyle="dotted", linewidth=1, zorder=1)
        axes.plot([at], [program.flops], markersize=6, zorder=3, **environment_marker(place))
        axes.annotate(
            f"{program.workload}\n{percent(program.share)}",
            (at, program.flops),
            (-7 if left else 7, -3),
            textcoords="offset points",
            ha="right" if left else "left",
            va="top",
            fontsize=8.5,
        )


def name_at_left(at: float, all_intensities: Sequence[float]) -> bool:
    """Whether the next program to the right is so near that a name would run into its mark."""
    above = min((other / at for other in all_intensities if other > at), default=math.inf)
    below = min((at / other for other in all_intensities if other < at), default=math.inf)
    return above < _NEAR and above < below


def _axes(axes: Axes) -> None:
    low, high = axes.get_ylim()
    axes.set_ylim(low / 2, high * 1.6)
    axes.grid(zorder=0)
    axes.set_xlabel("operations a byte of memory traffic (model)")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value)))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(numticks=10))
        axis.set_minor_formatter(NullFormatter())


def _tick(value: float) -> str:
    factor, unit = scale(value, "flop/s")
    return f"{value / factor:g} {unit}"
