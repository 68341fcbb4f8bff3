"""A simulated cluster: nodes set over time beside the published curve, and errors of clocks."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from aferir.clock.results import Errors, Simulation
from aferir.report.charts.clock_names import duration, inside, layout_name, moment_name
from aferir.report.charts.style import (
    INK,
    MUTED,
    environment_colour,
    note,
    plain_axis,
    render,
)
from aferir.report.formatting import quantity, scale

FLOOR_S = 1e-9
"""A clock that is exact has no place on a logarithmic axis."""


def simulation_chart(simulations: Sequence[Simulation]) -> str:
    """The chart as SVG: one colour for each simulated cluster."""
    deep = [s for s in simulations if len(s.levels) > 2]

    def draw(figure: Figure) -> None:
        heights = [3.4, 0.9 + _rows(simulations) * 0.3, *([2.8] if deep else [])]
        panels = figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
        _progress(panels[0], simulations)
        _moments(panels[1], simulations)
        if deep:
            _levels(panels[2], simulations)

    return render(
        draw,
        height=4.6 + _rows(simulations) * 0.3 + (2.9 if deep else 0),
        name="clock-simulation",
        title="A simulated cluster: time to synchronise and errors of its clocks",
        description="; ".join(_words(s) for s in simulations),
    )


def _rows(simulations: Sequence[Simulation]) -> int:
    return sum(len(s.errors) for s in simulations)


def _words(simulation: Simulation) -> str:
    held = simulation.at("held")
    return (
        f"{layout_name(simulation)}: {simulation.nodes:,} nodes set in "
        f"{duration(simulation.ready_s)}, largest error after "
        f"{duration(simulation.hold_s)} {quantity(held.max_s, 's')}"
    )


def _seconds(value: float, _: int | None) -> str:
    factor, unit = scale(value, "s")
    return f"{value / factor:,.6g} {unit}"


def _progress(axes: Axes, simulations: Sequence[Simulation]) -> None:
    for place, simulation in enumerate(simulations):
        colour = environment_colour(place)
        for curve, style in (
            (simulation.published_progress, "dashed"),
            (simulation.progress, "solid"),
        ):
            times, counts = zip(*curve, strict=True)
            label = layout_name(simulation) if style == "solid" else None
            axes.plot(times, counts, color=colour, linestyle=style, linewidth=1.8, label=label)
    axes.plot([], [], color=MUTED, linestyle="dashed", label="1 ms each (Dutra 2015, 7.3.1)")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(_seconds))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda count, _: f"{count:,.0f}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(zorder=0)
    axes.set_xlabel("time since the first exchange began")
    axes.set_title("Nodes that are set", loc="left", fontsize=9, fontweight="bold")
    axes.legend(loc="lower right")


def _moments(axes: Axes, simulations: Sequence[Simulation]) -> None:
    rows = [(place, s, e) for place, s in enumerate(simulations) for e in s.errors]
    axes.set_xscale("log")
    names = [f"{layout_name(s)} · {moment_name(e.moment, s.hold_s)}" for _, s, e in rows]
    plain_axis(axes, names)
    axes.xaxis.set_major_locator(LogLocator(numticks=12))
    axes.xaxis.set_major_formatter(FuncFormatter(_seconds))
    axes.xaxis.set_minor_formatter(NullFormatter())
    for row, (place, _, errors) in enumerate(rows):
        _error_row(axes, row, errors, environment_colour(place))
    axes.set_xlabel("error of a node's clock: median to largest, dot at 99 %; bar: claimed bound")
    axes.set_title("Errors against the reference", loc="left", fontsize=9, fontweight="bold")


def _error_row(axes: Axes, row: int, errors: Errors, colour: str) -> None:
    ends = [max(errors.median_s, FLOOR_S), max(errors.max_s, FLOOR_S)]
    axes.plot(ends, [row, row], color=colour, linewidth=2.4, zorder=3, solid_capstyle="butt")
    axes.plot([max(errors.p99_s, FLOOR_S)], [row], marker="o", markersize=5, color=colour, zorder=4)
    bound = max(errors.bound_median_s, FLOOR_S)
    axes.plot([bound, bound], [row - 0.3, row + 0.3], color=INK, linewidth=1.4, zorder=3)
    note(axes, row, f"max {quantity(errors.max_s, 's')} · {inside(errors.inside)} inside")


def _levels(axes: Axes, simulations: Sequence[Simulation]) -> None:
    """Errors after the second look, which is when a tree's depth is what matters."""
    for place, simulation in enumerate(simulations):
        rated = [next(e for e in v.errors if e.moment == "rated") for v in simulation.levels]
        levels = [v.level for v in simulation.levels]
        colour = environment_colour(place)
        label = layout_name(simulation)
        axes.plot(levels, [e.median_s for e in rated], color=colour, marker="o", label=label)
        axes.plot(levels, [e.max_s for e in rated], color=colour, marker="^", linestyle="dotted")
        axes.plot(levels, [e.bound_median_s for e in rated], color=colour, linestyle="dashed")
    for style, marker, name in (
        ("solid", "o", "median"),
        ("dotted", "^", "largest"),
        ("dashed", "", "claimed bound"),
    ):
        axes.plot([], [], color=MUTED, linestyle=style, marker=marker, label=name)
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(
        FixedLocator([10.0**p for p in range(-9, 4) if low <= 10.0**p <= high])
    )
    axes.yaxis.set_major_formatter(FuncFormatter(_seconds))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(zorder=0)
    axes.set_xlabel("exchanges between a node and the reference")
    axes.set_title(
        "Errors by level, after the second look", loc="left", fontsize=9, fontweight="bold"
    )
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
