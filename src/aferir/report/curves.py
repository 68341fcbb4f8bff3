"""Curves: series that programs reported, and metrics along a numeric factor."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import msgspec

from aferir.model.plan import Parameter, environment_family
from aferir.model.record import Record
from aferir.report.model import CellResult, Curve, CurveFamily, CurvePoint
from aferir.report.series_curves import curves_of_series

FEWEST_LEVELS = 3
"""Smallest number of levels of a factor for a curve; with fewer, the tables suffice."""
PARALLEL = ("threads", "processes", "links", "nodes", "environment.cpus")
"""Factors along which a speed-up is meaningful."""
_NOT_ITS_OWN = ("colocation", "aggregation")
"""Programs whose duration does not depend on `PARALLEL` factors: the `threads` of one do batch
work, the other sends over its `links` for a given time.
"""
ENVIRONMENT = "environment."

_OF_SPEED = ("speed_up", "efficiency")


def curve_families(
    cells: Sequence[CellResult],
    records: Sequence[Record],
    growing: Collection[str] = (),
    metric: str = "",
) -> tuple[CurveFamily, ...]:
    """All curves of a run in the order of the plan; curves along factors come first.

    `metric` is the one that the experiment is judged by; empty: none.
    `growing` are workloads whose problem grows with the factor (weak scaling), which have no
    speed-up and no efficiency. Curves along factors are few, and are what the factors were varied
    for; each cell has its own series.
    """
    families = (*_of_factors(cells), *curves_of_series(cells, records, metric))
    return tuple(f for f in families if f.metric not in _OF_SPEED or f.title not in growing)


class _Along(msgspec.Struct, frozen=True):
    """Position of a cell on a curve over the levels of one factor."""

    cell: CellResult
    environment: str
    label: str
    at: float


def _of_factors(cells: Sequence[CellResult]) -> list[CurveFamily]:
    found: list[CurveFamily] = []
    for workload in dict.fromkeys(cell.workload for cell in cells):
        own = [cell for cell in cells if cell.workload == workload and cell.points]
        for factor in dict.fromkeys(name for cell in own for name in cell.factors):
            places = [_along(cell, factor) for cell in own if _numeric(cell.factors.get(factor))]
            if len({place.at for place in places}) >= FEWEST_LEVELS:
                found += _along_factor(workload, factor, places)
    return found


def _numeric(level: Parameter | None) -> bool:
    return isinstance(level, int | float) and not isinstance(level, bool)


def _along(cell: CellResult, factor: str) -> _Along:
    level = cell.factors[factor]
    assert not isinstance(level, str)
    others = {name: value for name, value in cell.factors.items() if name != factor}
    varied = factor.startswith(ENVIRONMENT)
    return _Along(
        cell=cell,
        environment=environment_family(cell.environment) if varied else cell.environment,
        label=_words(others, environment=varied),
        at=float(level),
    )


def _words(factors: Mapping[str, Parameter], *, environment: bool) -> str:
    """`threads=4, class=B`: levels of factors; the environment's only if `environment` is true."""
    return ", ".join(
        f"{name.removeprefix(ENVIRONMENT)}={level}"
        for name, level in factors.items()
        if environment or not name.startswith(ENVIRONMENT)
    )


def _along_factor(workload: str, factor: str, places: list[_Along]) -> list[CurveFamily]:
    units = {"duration_s": "s"}
    units |= {metric.metric: metric.unit for place in places for metric in place.cell.metrics}
    unit = "B" if factor.endswith(("_bytes", ".memory")) else ""
    families = []
    for metric in units:
        curves = _curves(places, metric)
        if not curves:
            continue
        family = CurveFamily(
            title=workload,
            metric=metric,
            unit=units[metric],
            along=factor.removeprefix(ENVIRONMENT),
            along_unit=unit,
            categories=False,
            pooled=True,
            curves=curves,
        )
        families.append(family)
        own = places[0].cell.program not in _NOT_ITS_OWN
        if metric == "duration_s" and factor in PARALLEL and own:
            families += [(faster := _speed_up(family)), _efficiency(faster)]
    return families


def _curves(places: list[_Along], metric: str) -> tuple[Curve, ...]:
    arms: dict[tuple[str, str], list[_Along]] = {}
    for place in places:
        arms.setdefault((place.environment, place.label), []).append(place)
    curves = (
        Curve(
            environment=environment,
            emulated=any(place.cell.emulated for place in arm),
            label=label,
            points=tuple(p for place in arm if (p := _summarised(place, metric)) is not None),
        )
        for (environment, label), arm in arms.items()
    )
    return tuple(
        msgspec.structs.replace(c, points=tuple(sorted(c.points, key=lambda p: p.at)))
        for c in curves
        if c.points
    )


def _summarised(place: _Along, metric: str) -> CurvePoint | None:
    cell = place.cell
    summary = next((m.summary for m in cell.metrics if m.metric == metric), None)
    if metric == "duration_s":
        summary = cell.duration
    if summary is None or summary.median is None:
        return None
    assert summary.quantile_25 is not None
    assert summary.quantile_75 is not None
    return CurvePoint(
        at=place.at,
        n=summary.n,
        median=summary.median,
        quantile_25=summary.quantile_25,
        quantile_75=summary.quantile_75,
        interval=summary.median_interval,
    )


def _speed_up(durations: CurveFamily) -> CurveFamily:
    """Median duration at the first place of a curve divided by that at each place."""
    return _against_first(
        durations, "speed_up", "times", lambda point, first: _relative(point, first.median)
    )


def _efficiency(speed_ups: CurveFamily) -> CurveFamily:
    """Speed-up divided by the ideal one: 1 if twice the resources halve the time."""
    return _against_first(
        speed_ups, "efficiency", "", lambda point, first: _over_ideal(point, first.at)
    )


def _against_first(
    family: CurveFamily,
    metric: str,
    unit: str,
    compared: Callable[[CurvePoint, CurvePoint], CurvePoint],
) -> CurveFamily:
    """Each point of a curve relative to the first one of the curve, as another metric."""
    return msgspec.structs.replace(
        family,
        metric=metric,
        unit=unit,
        curves=tuple(
            msgspec.structs.replace(
                curve, points=tuple(compared(point, curve.points[0]) for point in curve.points)
            )
            for curve in family.curves
        ),
    )


def _over_ideal(point: CurvePoint, first: float | str) -> CurvePoint:
    ideal = float(point.at) / float(first)
    return msgspec.structs.replace(
        point,
        median=point.median / ideal,
        quantile_25=point.quantile_25 / ideal,
        quantile_75=point.quantile_75 / ideal,
        interval=None,
    )


def _relative(point: CurvePoint, first: float) -> CurvePoint:
    return msgspec.structs.replace(
        point,
        median=first / point.median,
        quantile_25=first / point.quantile_75,
        quantile_75=first / point.quantile_25,
        interval=None,
    )
