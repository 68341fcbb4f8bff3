"""Functions that find figures in a run for published rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from aferir.model.plan import Parameter
from aferir.model.record import GUESTS_EMULATED
from aferir.report.model import CellResult, CurvePoint
from aferir.report.published.model import Finder, Ours, Seen
from aferir.statistics.estimates import Estimate, of_interval, of_summary, quotient
from aferir.statistics.intervals import Interval

PER_PROCESSOR = "processes per processor"
_DURATION = "duration_s"


def sample(*programs: str, metric: str, factor: float = 1.0) -> Finder:
    """Make a finder of `metric` in cells of `programs`; `factor` converts it to the row's unit."""

    def find(seen: Seen) -> list[Ours]:
        return [
            ours(seen, cell, figure.scaled(factor))
            for cell in cells(seen, *programs)
            if (figure := mean(cell, metric)) is not None
        ]

    return find


def place(
    program: str, *, metric: str, at: float | str, label: Callable[[str], bool] = bool
) -> Finder:
    """Make a finder of the value at one place of a series.

    Only curves count whose label `label` accepts, or that have none.
    """

    def find(seen: Seen) -> list[Ours]:
        return [
            of_point(seen, cell, point, name)
            for cell, name, point in points(seen, program, metric)
            if point.at == at and (not name or label(name))
        ]

    return find


def either(*finders: Finder) -> Finder:
    """Return a finder that returns the results of all `finders`."""
    return lambda seen: [one for find in finders for one in find(seen)]


def points(seen: Seen, program: str, metric: str) -> Iterator[tuple[CellResult, str, CurvePoint]]:
    """Points of the series `metric`, each with its cell and the label of its curve."""
    known = {(cell.group, cell.environment): cell for cell in cells(seen, program)}
    for family in seen.evaluation.curves:
        for curve in family.curves:
            cell = known.get((family.title, curve.environment))
            if family.metric == metric and cell is not None:
                yield from ((cell, curve.label, point) for point in curve.points)


def cells(seen: Seen, *programs: str) -> Iterator[CellResult]:
    """Cells of `programs` that have results."""
    return (cell for cell in seen.evaluation.cells if cell.program in programs and cell.duration.n)


def measured_in(cell: CellResult, kind: str) -> bool:
    """True if a cell's environment is of the kind in which the published rows were measured."""
    return cell.kind == kind


def mean(cell: CellResult, metric: str) -> Estimate | None:
    """Mean of a metric of the program; None if the cell has none."""
    if metric == _DURATION:
        return of_summary(cell.duration)
    found = next((one for one in cell.metrics if one.metric == metric), None)
    return of_summary(found.summary) if found is not None else None


def rate_ratio(cell: CellResult, baseline: CellResult, metric: str = "") -> Estimate | None:
    """Ratio of two cells' rates: of `metric`, or without one the inverse ratio of durations."""
    if metric:
        above, below = mean(cell, metric), mean(baseline, metric)
    else:
        above, below = mean(baseline, _DURATION), mean(cell, _DURATION)
    if above is None or below is None or below.value <= 0:
        return None
    return quotient(above, below)


def ours(seen: Seen, cell: CellResult, figure: Estimate, **more: Parameter) -> Ours:
    """Figure of a cell with its conditions: kind, parameters, factors, and those in `more`."""
    conditions: dict[str, Parameter] = {"kind": cell.kind, **cell.specification}
    conditions |= {**cell.parameters, **cell.factors}
    processes = conditions.get("processes", 1)
    if seen.processors and isinstance(processes, int):
        conditions[PER_PROCESSOR] = processes / seen.processors
    return Ours(
        environment=cell.environment,
        group=cell.group,
        emulated=cell.emulated or GUESTS_EMULATED in {one.warning.code for one in cell.warnings},
        figure=figure,
        conditions=conditions | more,
    )


def over_baseline(seen: Seen, *programs: str) -> Iterator[tuple[CellResult, CellResult]]:
    """Pairs of a cell and the baseline's cell of the same group."""
    baselines = {cell.group: cell for cell in cells(seen, *programs) if cell.baseline}
    for cell in cells(seen, *programs):
        if not cell.baseline and cell.group in baselines:
            yield cell, baselines[cell.group]


def with_level(seen: Seen, cell: CellResult, factor: str, level: Parameter) -> CellResult | None:
    """The cell like `cell` but with `level` of `factor`; None if there is none."""

    def others(one: CellResult) -> dict[str, Parameter]:
        return {name: value for name, value in one.factors.items() if name != factor}

    family = cell.environment.partition("[")[0]
    return next(
        (
            one
            for one in cells(seen, cell.program)
            if one.workload == cell.workload
            and one.environment.partition("[")[0] == family
            and one.factors.get(factor) == level
            and others(one) == others(cell)
        ),
        None,
    )


def of_point(
    seen: Seen, cell: CellResult, point: CurvePoint, label: str = "", factor: float = 1.0
) -> Ours:
    """Median at one point of a series, with its interval; `factor` converts it to the row's unit.

    The label of the curve becomes the condition `reference`, and is shown beside the group.
    """
    found = ours(seen, cell, of_interval(point.median, point.interval, point.n).scaled(factor))
    own = point.interval
    if own is not None:
        own = Interval(own.low * factor, own.high * factor, own.level, own.method)
    return msgspec.structs.replace(
        found,
        interval=own,
        group=f"{found.group}, {label}" if label else found.group,
        conditions=found.conditions | {"reference": label},
    )
