"""Charts of costs of I/O: CPU time, cycles by layer, energy by idle power."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec
import numpy as np

from aferir.report.charts.plane import Drawn as PlaneDrawn
from aferir.report.charts.plane import Entry, Path, Spot, plane_chart
from aferir.report.charts.rows import Bar, Drawn, Key, Line, Panel, Point, Row, rows_chart
from aferir.report.charts.scales import Axis
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
"""Name of each layer in the legend, and the CPU state whose colour it has."""
FAR = 2.5
"""An environment gets its own axis if its cost is at least this many times the group's least."""
_Row = tuple[IoCell, Mapping[str, float], str]
_Parts = Mapping[str, tuple[str, str]]


class IoChart(msgspec.Struct, frozen=True):
    """Pictures below one heading, drawn only when a form of the report shows them."""

    title: str
    caption: str
    draw: Callable[[], tuple[str, ...]]


def io_charts(study: IoStudy) -> list[IoChart]:
    """All charts of a study of I/O."""
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
    panel = Panel(
        rows=_stacks(rows, _STATES, [_label(cell) for cell in study.cells]),
        axis=Axis(0.0, 100.0, lambda share: f"{share:.0f} %"),
    )
    return rows_chart(
        [panel],
        name="io-split",
        title="Where the time of all cores went",
        description=_words(rows, _STATES),
        legend=_legend(rows, _STATES),
    )


def _layers(study: IoStudy) -> tuple[str, ...]:
    """One chart for each group, with the legend above the first."""
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
    parts = [part for part in (near, [row for row in own if row not in near]) if part]
    panels = [
        Panel(
            rows=_stacks(part, _LAYERS, [labelled(c.environment, c.emulated) for c, _, _ in part]),
            axis=Axis(0.0, 1.02 * max(cell.cpio.value for cell, _, _ in part), "{:,.5g}".format),
            title=group if k == 0 else "",
            below="cycles per operation" if k == len(parts) - 1 else "",
        )
        for k, part in enumerate(parts)
    ]
    return rows_chart(
        panels,
        name=f"io-layers-{place}",
        title=f"Cycles per operation of {group} by layer",
        description=_words(own, _LAYERS),
        legend=_legend(rows, _LAYERS) if place == 0 else (),
    )


def _shown(rows: Sequence[_Row], parts: _Parts) -> list[str]:
    return [part for part in parts if any(values.get(part, 0) > 0 for _, values, _ in rows)]


def _words(rows: Sequence[_Row], parts: _Parts) -> str:
    return "; ".join(
        f"{_label(cell)}: "
        + ", ".join(f"{parts[p][0]} {values[p]:.4g}" for p in _shown(rows, parts))
        for cell, values, _ in rows
    )


def _stacks(rows: Sequence[_Row], parts: _Parts, names: list[str]) -> tuple[Row, ...]:
    """Stacked bars, one row for each cell, with its figures at the right."""
    found = []
    for (cell, values, note), name in zip(rows, names, strict=True):
        drawn: list[Drawn] = []
        left = 0.0
        for part in _shown(rows, parts):
            drawn.append(Bar(left, left + values[part], f"state-{parts[part][1]}"))
            left += values[part]
        if cell.emulated:
            drawn.append(Bar(0.0, left, "plain", hatched=True))
        found.append(Row(label=name, note=note, drawn=tuple(drawn)))
    return tuple(found)


def _legend(rows: Sequence[_Row], parts: _Parts) -> list[Key]:
    keys = [Key(f"state-{parts[part][1]}", parts[part][0]) for part in _shown(rows, parts)]
    if any(cell.emulated for cell, _, _ in rows):
        keys.append(Key("plain", "emulated in software", hatched=True))
    return keys


def _energy(study: IoStudy) -> str:
    low = min(one.value for cell in study.cells for one in cell.eio_j)
    high = max(one.value + one.error for cell in study.cells for one in cell.eio_j)
    panel = Panel(
        rows=tuple(map(_energies, study.cells)),
        axis=Axis(low / 1.5, high * 1.5, lambda joules: quantity(joules, "J"), logarithmic=True),
    )
    idle = enumerate(study.server.idle_fractions)
    words = "; ".join(
        f"{_label(cell)}: " + ", ".join(quantity(one.value, "J") for one in cell.eio_j)
        for cell in study.cells
    )
    return rows_chart(
        [panel],
        name="io-energy",
        title="Energy per operation by idle power",
        description=words,
        legend=[Key("ink", f"idle power {100 * share:.0f} %", place=k) for k, share in idle],
    )


def _energies(cell: IoCell) -> Row:
    values = [one.value for one in cell.eio_j]
    drawn: list[Drawn] = [Line(min(values), max(values), "muted", wide=1)]
    for place, one in enumerate(cell.eio_j):
        error = min(one.error, 0.9 * one.value)
        drawn.append(Line(one.value - error, one.value + error, "ink", wide=1.4))
        drawn.append(Point(one.value, place, tone="ink"))
    return Row(
        label=_label(cell),
        note=" \u2013 ".join(quantity(value, "J") for value in values),
        drawn=tuple(drawn),
    )


def _growth(projection: IoProjection, place: int) -> str:
    """Chart of measured costs by cores, and of the fitted laws as far as they may be projected."""
    measured = projection.measured
    first = measured[min(measured)]
    times = {float(cores): cost / first for cores, cost in measured.items()}
    drawn: list[PlaneDrawn] = [Spot(at, 0, size=1.0, tone="ink") for at in times.items()]
    legend = [Entry("measured", "ink", place=0, line=False)]
    highest = max(times.values())
    projected = False
    for name, law, style in (
        ("USL", projection.usl, "solid"),
        ("linear", projection.linear, "dashed"),
    ):
        if law is None:
            continue
        path = _law(law, max(measured), style)
        drawn.append(path)
        highest = max(highest, *(cost for _, cost in path.places))
        said = "not projected"
        if not law.refused:
            projected = True
            drawn.append(Path(((law.cores, law.low), (law.cores, law.high)), "muted", wide=4))
            highest = max(highest, law.high)
            said = f"[{law.low:.3g}, {law.high:.3g}] at {law.cores:,}"
        legend.append(Entry(f"{name}, {said}", "muted", style))
    words = ", ".join(f"{cores} cores: {cost:.4g} cycles" for cores, cost in measured.items())
    return plane_chart(
        drawn,
        _growth_axes(projected, list(times), min(times.values()), highest),
        name=f"io-growth-{place}",
        title=f"Growth of system cycles per operation of {projection.workload}: times the cost on "
        "the fewest cores",
        description=words,
        below="cores",
        legend=legend,
    )


def _growth_axes(
    projected: bool, cores: list[float], least: float, highest: float
) -> tuple[Axis, Axis]:
    shown = "{:,.4g}".format
    if projected:
        return (
            Axis(0.9, 1100.0, shown, logarithmic=True, at=(1.0, 10.0, 100.0, 1000.0)),
            Axis(0.9 * least, 1.1 * highest, shown, logarithmic=True),
        )
    return Axis(0.0, 1.05 * max(cores), shown, at=tuple(cores)), Axis(0.0, 1.1 * highest, shown)


def _law(law: Projection, largest: int, style: str) -> Path:
    """Curve of a law, up to the projected number of cores; if refused, the largest measured one."""
    last = largest if law.refused else law.cores
    cores = np.geomspace(1, last, 101).tolist()
    return Path(tuple((n, law.law.at(n) / law.law.first) for n in cores), "muted", style)
