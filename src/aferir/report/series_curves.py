"""Curves of the series that programs reported: one picture for each metric and group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, get_args

import msgspec
import numpy as np

from aferir.model.record import Record
from aferir.report.extremes import Extreme, Repeated, extremes, judged
from aferir.report.model import CellResult, Curve, CurveFamily, CurvePoint
from aferir.statistics.intervals import median_interval

_Key = tuple[str, str, str, str, str, Literal["curve", "scatter", "frontier"]]
"""Title, metric, unit, quantity of the places, its unit, and kind of picture."""


class _Arm(msgspec.Struct, frozen=True):
    """Series of one curve: those of all repetitions of one cell that have the same label."""

    cell: CellResult
    label: str
    series: list[Repeated]
    pooled: bool


def curves_of_series(
    cells: Sequence[CellResult], records: Sequence[Record], metric: str
) -> list[CurveFamily]:
    """Curves of all series in the order of the plan.

    Repetitions with the same places are pooled. If places differ, the best and the worst repetition
    by `metric` are drawn, or the first one if none is better.
    """
    by_cell: dict[str, list[Repeated]] = {}
    for record in sorted(records, key=lambda r: r.repetition):
        if record.failure is None:
            by = judged(record, metric)
            by_cell.setdefault(record.cell, []).extend(Repeated(one, by) for one in record.series)
    found: dict[_Key, dict[tuple[str, str], _Arm]] = {}
    for cell in cells:
        arms: dict[tuple[_Key, str], list[Repeated]] = {}
        for one in by_cell.get(cell.cell, []):
            series = one.series
            title = _title(cell, series.along)
            key = (
                *(title, series.metric, series.unit, series.along, series.along_unit),
                series.kind,
            )
            arms.setdefault((key, series.label), []).append(one)
        for (key, label), repeated in arms.items():
            pooled = len({one.series.at for one in repeated}) == 1
            family = found.setdefault(key, {})
            place = (cell.environment, label)
            earlier = family.get(place, _Arm(cell, label, [], pooled=True))
            family[place] = _Arm(
                earlier.cell, label, earlier.series + repeated, pooled=earlier.pooled and pooled
            )
    return [made for key, arms in found.items() for made in _families(key, list(arms.values()))]


def _title(cell: CellResult, along: str) -> str:
    """Title of the cell's group, without the factor that a series runs along.

    A series along a factor covers all levels of it.
    """
    if along not in cell.factors:
        return cell.group
    return "/".join(part for part in cell.group.split("/") if not part.startswith(f"{along}="))


def _families(key: _Key, arms: list[_Arm]) -> list[CurveFamily]:
    """One picture, or two (best and worst repetition) if places differ and some are better."""
    if key[-1] != "curve":
        return [_scatter(key, arms)]
    if all(arm.pooled for arm in arms):
        return [_family(key, arms, [arm.series for arm in arms])]
    ends = [found for arm in arms if (found := extremes(arm.series)) is not None]
    if len(ends) < len(arms) or all(one["best"] == one["worst"] for one in ends):
        return [_family(key, arms, [arm.series[:1] for arm in arms], pooled=False)]
    return [
        _family(key, arms, [[one[shown]] for one in ends], pooled=False, shown=shown)
        for shown in get_args(Extreme)
    ]


def _family(
    key: _Key,
    arms: list[_Arm],
    drawn: list[list[Repeated]],
    *,
    pooled: bool = True,
    shown: Literal["first", "best", "worst"] = "first",
) -> CurveFamily:
    """One picture with the curves of the repetitions `drawn`, given by arm."""
    title, metric, unit, along, along_unit, _ = key
    every = [one.series for repeated in drawn for one in repeated]
    return CurveFamily(
        title=title,
        metric=metric,
        unit=unit,
        along=along,
        along_unit=along_unit,
        categories=any(isinstance(place, str) for series in every for place in series.at),
        pooled=pooled,
        shown=shown,
        curves=tuple(
            Curve(
                environment=arm.cell.environment,
                emulated=arm.cell.emulated,
                label=arm.label,
                points=_points(
                    (place, value)
                    for one in repeated
                    for place, value in zip(one.series.at, one.series.values)  # noqa: B905 - Series has them of one length
                ),
                judged=None if shown == "first" else repeated[0].judged,
            )
            for arm, repeated in zip(arms, drawn, strict=True)
        ),
        moments={name: at for series in every for name, at in series.moments.items()},
    )


def _scatter(key: _Key, arms: list[_Arm]) -> CurveFamily:
    """Scatter in which each arm is one point, at the medians of its places and of its values."""
    title, metric, unit, along, along_unit, kind = key
    return CurveFamily(
        title=title,
        metric=metric,
        unit=unit,
        along=along,
        along_unit=along_unit,
        categories=False,
        pooled=True,
        kind=kind,
        curves=tuple(
            Curve(
                environment=arm.cell.environment,
                emulated=arm.cell.emulated,
                label=arm.label,
                points=(_measured_point(arm.series),),
            )
            for arm in arms
        ),
    )


def _measured_point(repeated: Sequence[Repeated]) -> CurvePoint:
    places = [float(place) for one in repeated for place in one.series.at]
    first, middle, third = (float(q) for q in np.quantile(places, [0.25, 0.5, 0.75]))
    point = _point(middle, [value for one in repeated for value in one.series.values])
    return msgspec.structs.replace(point, at_25=first, at_75=third)


def _points(pairs: Iterable[tuple[float | str, float]]) -> tuple[CurvePoint, ...]:
    at: dict[float | str, list[float]] = {}
    for place, value in pairs:
        at.setdefault(place, []).append(value)
    places = list(at)
    if not any(isinstance(place, str) for place in places):
        places.sort()
    return tuple(_point(place, at[place]) for place in places)


def _point(place: float | str, values: list[float]) -> CurvePoint:
    first, middle, third = (float(q) for q in np.quantile(values, [0.25, 0.5, 0.75]))
    return CurvePoint(
        at=place,
        n=len(values),
        median=middle,
        quantile_25=first,
        quantile_75=third,
        interval=median_interval(values),
    )
