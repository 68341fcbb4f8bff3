"""Charts of a simulated cluster: synchronised nodes over time, and errors of clocks."""

from __future__ import annotations

from collections.abc import Sequence

from aferir.clock.results import Errors, Simulation
from aferir.report.charts.clock_names import duration, inside, layout_name, moment_name
from aferir.report.charts.plane import Drawn, Entry, Path, Spot, plane_chart
from aferir.report.charts.rows import Line, Panel, Point, Row, Tick, rows_chart, stacked
from aferir.report.charts.scales import Axis, own_ticks
from aferir.report.formatting import quantity
from aferir.report.marks import MARKS

FLOOR_S = 1e-9
"""Smallest error that is drawn, since a logarithmic axis has no place for 0."""


def simulation_chart(simulations: Sequence[Simulation]) -> str:
    """One SVG: nodes synchronised over time, errors, and errors by level of deep trees.

    Each simulated cluster has its own mark.
    """
    deep = [s for s in simulations if len(s.levels) > 2]
    return stacked(
        [
            _progress(simulations),
            _moments(simulations),
            *([_levels(simulations)] if deep else []),
        ],
        name="clock-simulation",
        title="A simulated cluster: time to synchronise and errors of its clocks",
        description="; ".join(_words(s) for s in simulations),
    )


def _tone(place: int) -> str:
    return f"e{place % MARKS}"


def _words(simulation: Simulation) -> str:
    held = simulation.at("held")
    return (
        f"{layout_name(simulation)}: {simulation.nodes:,} nodes set in "
        f"{duration(simulation.ready_s)}, largest error after "
        f"{duration(simulation.hold_s)} {quantity(held.max_s, 's')}"
    )


def _progress(simulations: Sequence[Simulation]) -> str:
    drawn: list[Drawn] = []
    legend = []
    for place, simulation in enumerate(simulations):
        drawn += [
            Path(tuple(simulation.published_progress), _tone(place), "dashed"),
            Path(tuple(simulation.progress), _tone(place)),
        ]
        legend.append(Entry(layout_name(simulation), _tone(place)))
    legend.append(Entry("1 ms each (Dutra 2015, 7.3.1)", "muted", "dashed"))
    places = [at for one in drawn if isinstance(one, Path) for at in one.places]
    times, counts = ([at[k] for at in places if at[k] > 0] for k in (0, 1))
    return plane_chart(
        drawn,
        (
            Axis(min(times) / 1.2, max(times) * 1.2, own_ticks("s"), logarithmic=True),
            Axis(min(counts) / 1.2, max(counts) * 1.2, "{:,.0f}".format, logarithmic=True),
        ),
        name="clock-progress",
        title="Nodes that are set",
        description="; ".join(_words(s) for s in simulations),
        below="time since the first exchange began",
        legend=legend,
    )


def _moments(simulations: Sequence[Simulation]) -> str:
    rows = [_row(place, s, e) for place, s in enumerate(simulations) for e in s.errors]
    errors = [e for s in simulations for e in s.errors]
    known = [
        max(value, FLOOR_S) for e in errors for value in (e.median_s, e.max_s, e.bound_median_s)
    ]
    axis = Axis(min(known) / 1.3, max(known) * 1.3, own_ticks("s"), logarithmic=True)
    return rows_chart(
        [
            Panel(
                rows=tuple(rows),
                axis=axis,
                title="Errors against the reference",
                below="error of a node's clock: median to largest, mark at 99 %; "
                "bar: claimed bound",
            )
        ],
        name="clock-errors",
        title="Errors of the nodes' clocks against the reference",
        description="; ".join(f"{row.label}: {row.note}" for row in rows),
    )


def _row(place: int, simulation: Simulation, errors: Errors) -> Row:
    median, most, p99, bound = (
        max(value, FLOOR_S)
        for value in (errors.median_s, errors.max_s, errors.p99_s, errors.bound_median_s)
    )
    return Row(
        label=f"{layout_name(simulation)} · {moment_name(errors.moment, simulation.hold_s)}",
        note=f"max {quantity(errors.max_s, 's')} · {inside(errors.inside)} inside",
        place=place % MARKS,
        drawn=(
            Line(median, most, _tone(place)),
            Tick(bound),
            Point(p99, place % MARKS),
        ),
    )


def _levels(simulations: Sequence[Simulation]) -> str:
    """Chart of clock errors by level of the tree, after the second exchange, when depth matters."""
    drawn: list[Drawn] = []
    legend = []
    places: list[tuple[float, float]] = []
    for place, simulation in enumerate(simulations):
        rated = [next(e for e in v.errors if e.moment == "rated") for v in simulation.levels]
        levels = [float(v.level) for v in simulation.levels]
        lines = {
            "solid": [e.median_s for e in rated],
            "dotted": [e.max_s for e in rated],
            "dashed": [e.bound_median_s for e in rated],
        }
        for style, values in lines.items():
            line = tuple(zip(levels, [max(v, FLOOR_S) for v in values], strict=True))
            places += line
            drawn.append(Path(line, _tone(place), style))
            if style == "solid":
                drawn += [Spot(at, place % MARKS) for at in line]
        legend.append(Entry(layout_name(simulation), _tone(place), place=place % MARKS))
    legend += [
        Entry(words, "muted", style)
        for style, words in (("solid", "median"), ("dotted", "largest"), ("dashed", "bound"))
    ]
    last = max(at for at, _ in places)
    errors = [value for _, value in places]
    return plane_chart(
        drawn,
        (
            Axis(-0.05 * last, 1.05 * last, "{:g}".format, at=_whole(last)),
            Axis(min(errors) / 1.3, max(errors) * 1.3, own_ticks("s"), logarithmic=True),
        ),
        name="clock-levels",
        title="Errors by level, after the second look",
        description="; ".join(_words(s) for s in simulations),
        below="exchanges between a node and the reference",
        legend=legend,
    )


def _whole(last: float) -> tuple[float, ...]:
    step = max(1, round(last / 10))
    return tuple(float(level) for level in range(0, int(last) + 1, step))
