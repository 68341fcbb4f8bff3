"""Finds curves over sizes that cross: those of two environments, or of two levels of a factor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from aferir.model.plan import Parameter
from aferir.report.model import Curve, CurveFamily, Evaluation
from aferir.statistics.crossing import Band, Crossing, crossings

_SIZE = "B"
"""Unit of the axis on which crossings are sought, e.g. sizes of messages. Along time, or the number
of a query, noise alone would make curves cross.
"""
_FEWEST_PLACES = 3
"""Smallest number of places of a curve whose crossings are sought; curves of two places are shown
by a table.
"""


class Crossed(msgspec.Struct, frozen=True, kw_only=True):
    """Two curves of one metric that cross at least once."""

    family: CurveFamily
    """Family that the first curve belongs to."""
    curve: Curve
    """The first of the two curves."""
    differs: str
    """Name of the only thing that differs between the curves: a factor, or `environment`."""
    first: str
    second: str
    """Level of the differing factor (or environment) of each curve; `second` is the one that comes
    first in the plan.
    """
    at: tuple[Crossing, ...]


class _Place(msgspec.Struct, frozen=True):
    """A curve with its family and the factors of its cell."""

    family: CurveFamily
    curve: Curve
    factors: dict[str, Parameter]


def crossed(evaluation: Evaluation) -> tuple[Crossed, ...]:
    """Every pair of curves that crosses, in the order of the plan.

    Two curves are compared if a single factor, or only the environment, differs between them, and
    one of them has its first level, or the first environment.
    """
    found: list[Crossed] = []
    for places in _comparable(evaluation).values():
        for one in places:
            found += [made for other in places if (made := _pair(one, other, places)) is not None]
    return tuple(found)


def _comparable(evaluation: Evaluation) -> dict[tuple[str, ...], list[_Place]]:
    """Group curves by workload, metric, axis and label; only curves of one group are compared."""
    cells = {cell.group: cell for cell in evaluation.cells}
    found: dict[tuple[str, ...], list[_Place]] = {}
    for family in evaluation.curves:
        cell = cells.get(family.title)
        if cell is None or family.along_unit != _SIZE:
            continue
        if family.categories or family.kind != "curve" or not family.pooled:
            continue
        for curve in family.curves:
            if len(curve.points) >= _FEWEST_PLACES:
                key = (cell.workload, family.metric, family.along, curve.label)
                found.setdefault(key, []).append(_Place(family, curve, dict(cell.factors)))
    return found


def _pair(one: _Place, other: _Place, places: Sequence[_Place]) -> Crossed | None:
    """Crossings of two curves that differ in one factor; `other` has the first level of it."""
    differing = _differences(one, other)
    if len(differing) != 1:
        return None
    ((name, (first, second)),) = differing.items()
    if second != _levels(places[0])[name]:
        return None
    at = crossings(_bands(one.curve), _bands(other.curve))
    if not at:
        return None
    return Crossed(
        family=one.family,
        curve=one.curve,
        differs=name,
        first=str(first),
        second=str(second),
        at=at,
    )


def _levels(place: _Place) -> Mapping[str, Parameter]:
    return {"environment": place.curve.environment, **place.factors}


def _differences(one: _Place, other: _Place) -> dict[str, tuple[Parameter, Parameter]]:
    first, second = _levels(one), _levels(other)
    if first.keys() != second.keys():
        return {}
    return {name: (first[name], second[name]) for name in first if first[name] != second[name]}


def _bands(curve: Curve) -> list[Band]:
    return [
        Band(point.at, point.quantile_25, point.quantile_75)
        for point in curve.points
        if not isinstance(point.at, str)
    ]
