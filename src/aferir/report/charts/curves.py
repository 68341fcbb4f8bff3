"""Charts of one metric along a quantity: lines over numbers, rows of marks over words."""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import pairwise

import msgspec

from aferir.report.charts.plane import (
    STYLES,
    Area,
    Drawn,
    Entry,
    Moment,
    Path,
    Spot,
    plane_chart,
)
from aferir.report.charts.rows import Line, Panel, Point, Row, rows_chart
from aferir.report.charts.scales import Axis, fitting, unit_ticks
from aferir.report.formatting import labelled, listing, metric_name, quantity
from aferir.report.marks import MARKS
from aferir.report.marks import places as marks_of
from aferir.report.model import Curve, CurveFamily, CurvePoint, Evaluation
from aferir.statistics.frontier import frontier

MARKED = 40
"""A curve with at most this many points shows a mark at each of them."""


def curve_charts(
    evaluation: Evaluation, families: Collection[CurveFamily] | None = None
) -> list[str]:
    """Draw one chart as SVG for each family of curves: for `families` of the evaluation, or all."""
    chosen = None if families is None else {id(family) for family in families}
    return [
        _chart(family)(evaluation, family, f"curve-{place}")
        for place, family in enumerate(evaluation.curves)
        if chosen is None or id(family) in chosen
    ]


def _chart(family: CurveFamily) -> Callable[[Evaluation, CurveFamily, str], str]:
    if family.kind != "curve":
        return _scatter
    return _dots if family.categories else _lines


def _title(family: CurveFamily) -> str:
    along = f" by {_along(family)}"  # which the metric's own name may say already
    measured = metric_name(family.metric).removesuffix(along)
    return f"{family.title}: {measured}{along}{_which(family)}"


def _which(family: CurveFamily) -> str:
    """`, best repetition (latency 1.2 ms)`: words for a picture that shows a single repetition."""
    if family.pooled:
        return ""
    judged = [curve.judged for curve in family.curves if curve.judged is not None]
    if not judged:
        return ", first repetition"
    figures = listing(list(dict.fromkeys(quantity(one.value, one.unit) for one in judged)))
    return f", {family.shown} repetition ({metric_name(judged[0].metric)} {figures})"


def _along(family: CurveFamily) -> str:
    return metric_name(family.along.replace("_bytes", "_size"))


def _name(curve: Curve, family: CurveFamily) -> str:
    environment = labelled(curve.environment, curve.emulated)
    alone = len({other.environment for other in family.curves}) == 1
    if not curve.label:
        return environment
    return curve.label if alone else f"{environment} · {curve.label}"


class _Look(msgspec.Struct, frozen=True):
    """Style of a curve: its mark, and its line."""

    place: int
    """Index of the mark, which determines colour and shape."""
    style: str

    @property
    def tone(self) -> str:
        return f"e{self.place}"


def _looks(evaluation: Evaluation, family: CurveFamily) -> list[_Look]:
    """Style of each curve: one mark for each environment, and one line style for each arm.

    With a single environment in the picture, each arm has its own mark.
    """
    labels = list(dict.fromkeys(curve.label for curve in family.curves))
    alone = len({curve.environment for curve in family.curves}) == 1 and len(labels) > 1
    marks = marks_of(evaluation.environments)
    looks = []
    for curve in family.curves:
        arm = labels.index(curve.label)
        place = arm % MARKS if alone else marks[curve.environment]
        looks.append(_Look(place, STYLES[(arm // MARKS if alone else arm) % len(STYLES)]))
    return looks


def _described(family: CurveFamily) -> str:
    return "; ".join(_words(curve, family) for curve in family.curves)


def _words(curve: Curve, family: CurveFamily) -> str:
    ends = (curve.points[0], curve.points[-1])
    said = ", ".join(f"{quantity(p.median, family.unit)} at {_shown(p, family)}" for p in ends)
    return f"{_name(curve, family)}: {said}"


def _shown(point: CurvePoint, family: CurveFamily) -> str:
    if isinstance(point.at, str):
        return point.at
    return quantity(point.at, family.along_unit)


def _lines(evaluation: Evaluation, family: CurveFamily, name: str) -> str:
    looks = _looks(evaluation, family)
    drawn: list[Drawn] = [Moment(at, what) for what, at in family.moments.items()]
    legend = []
    for curve, look in zip(family.curves, looks, strict=True):
        marked = len(curve.points) <= MARKED
        drawn += _line(curve, look, marked=marked)
        place = look.place if marked else None
        legend.append(Entry(_name(curve, family), look.tone, look.style, place))
    if family.metric == "speed_up" and (ideal := _ideal(family)) is not None:
        drawn.append(ideal)
        legend.append(Entry("ideal", ideal.tone, ideal.style))
    points = [point for curve in family.curves for point in curve.points]
    axes = (
        fitting([float(point.at) for point in points], family.along_unit, few=True),
        fitting([v for p in points for v in (p.quantile_25, p.quantile_75)], family.unit),
    )
    return plane_chart(
        drawn,
        axes,
        name=name,
        title=_title(family),
        description=_described(family),
        below=_along(family),
        legend=legend if len(legend) > 1 else (),
    )


def _line(curve: Curve, look: _Look, *, marked: bool) -> list[Drawn]:
    along = tuple(float(point.at) for point in curve.points)
    medians = [(at, point.median) for at, point in zip(along, curve.points, strict=True)]
    spots: list[Drawn] = [Spot(at, look.place) for at in medians] if marked else []
    return [
        Area(
            along,
            tuple(point.quantile_25 for point in curve.points),
            tuple(point.quantile_75 for point in curve.points),
            look.tone,
        ),
        Path(tuple(medians), look.tone, look.style),
        *spots,
    ]


def _ideal(family: CurveFamily) -> Path | None:
    first = min(float(curve.points[0].at) for curve in family.curves)
    last = max(float(curve.points[-1].at) for curve in family.curves)
    if first <= 0:
        return None
    return Path(((first, 1.0), (last, last / first)), "muted", "dotted", wide=1.2)


def _scatter(evaluation: Evaluation, family: CurveFamily, name: str) -> str:
    """Scatter of the arms with their names; bars show the quartiles of both figures."""
    looks = _looks(evaluation, family)
    drawn: list[Drawn] = []
    legend = []
    if family.kind == "frontier":
        drawn.append(_beaten_by_none(family))
        legend.append(Entry("beaten by none", "muted", "dotted"))
    along: list[float] = []
    up: list[float] = []
    for curve, look in zip(family.curves, looks, strict=True):
        arm = _name(curve, family)
        legend.append(Entry(arm, look.tone, place=look.place, line=False))
        for point in curve.points:
            low, high = _width(point)
            at = float(point.at)
            drawn += [
                Path(((low, point.median), (high, point.median)), look.tone, wide=1.2),
                Path(((at, point.quantile_25), (at, point.quantile_75)), look.tone, wide=1.2),
                Spot((at, point.median), look.place, arm),
            ]
            along += [low, high]
            up += [point.quantile_25, point.quantile_75]
    return plane_chart(
        drawn,
        (fitting(along, family.along_unit, few=True), fitting(up, family.unit)),
        name=name,
        title=_title(family).replace(" by ", " over "),
        description=_described(family),
        below=_along(family),
        legend=legend,
        height=340,
    )


def _width(point: CurvePoint) -> tuple[float, float]:
    at = float(point.at)
    return (
        at if point.at_25 is None else point.at_25,
        at if point.at_75 is None else point.at_75,
    )


def _beaten_by_none(family: CurveFamily) -> Path:
    """Staircase through the Pareto frontier: the points that no other point dominates."""
    points = {str(k): curve.points[0] for k, curve in enumerate(family.curves)}
    best = frontier({k: (p.median, float(p.at)) for k, p in points.items()})
    places = sorted((float(points[k].at), points[k].median) for k in best)
    corners = [places[0]]
    for (at, _), (next_at, value) in pairwise(places):
        corners += [(at, value), (next_at, value)]
    return Path(tuple(corners), "muted", "dotted", wide=1.2)


def _dots(evaluation: Evaluation, family: CurveFamily, name: str) -> str:
    """Chart with one row for each word and curve, words in the order of first appearance."""
    looks = _looks(evaluation, family)
    rows: dict[float | str, list[Row]] = {}
    for curve, look in zip(family.curves, looks, strict=True):
        for point in curve.points:
            rows.setdefault(point.at, []).append(_row(curve, point, look, family))
    values = [
        value
        for curve in family.curves
        for point in curve.points
        for value in (point.quantile_25, point.quantile_75)
    ]
    # Bytes are shares of a whole, such as traffic by link: the axis begins at 0.
    if family.unit == "B" and min(values) >= 0:
        most = 1.04 * max(values) or 1.0
        axis = Axis(0.0, most, unit_ticks((most,), family.unit))
    else:
        axis = fitting(values, family.unit, few=True)
    return rows_chart(
        [
            Panel(
                rows=tuple(row for word in rows.values() for row in word),
                axis=axis,
                title=_title(family),
            )
        ],
        name=name,
        title=_title(family),
        description=_described(family),
    )


def _row(curve: Curve, point: CurvePoint, look: _Look, family: CurveFamily) -> Row:
    several = len(family.curves) > 1
    return Row(
        label=f"{point.at} · {_name(curve, family)}" if several else str(point.at),
        note=f"{quantity(point.median, family.unit)} · n = {point.n}",
        place=look.place,
        drawn=(
            Line(point.quantile_25, point.quantile_75, look.tone),
            Point(point.median, look.place),
        ),
    )
