"""One metric along something: lines over numbers, rows of dots over words."""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import (
    FixedLocator,
    FuncFormatter,
    Locator,
    LogLocator,
    MaxNLocator,
    NullFormatter,
)

from aferir.report.charts.style import (
    MUTED,
    environment_colour,
    environment_marker,
    note,
    plain_axis,
    render,
)
from aferir.report.formatting import labelled, metric_name, quantity, scale
from aferir.report.marks import MARKS
from aferir.report.marks import places as marks_of
from aferir.report.model import Curve, CurveFamily, CurvePoint, Evaluation
from aferir.statistics.frontier import frontier

WIDE = 50.0
"""From this ratio of largest to smallest on an axis is logarithmic."""
FEW = 6
"""Up to so many whole numbers along an axis each has its tick."""
MARKED = 40
"""Up to so many points a curve shows each of them."""
_STYLES = ("solid", "dashed", "dotted", "dashdot")


def curve_charts(evaluation: Evaluation) -> list[str]:
    """One chart as SVG for each family."""
    return [
        _chart(family)(evaluation, family, f"curve-{place}")
        for place, family in enumerate(evaluation.curves)
    ]


def _chart(family: CurveFamily) -> Callable[[Evaluation, CurveFamily, str], str]:
    if family.kind != "curve":
        return _scatter
    return _dots if family.categories else _lines


def _title(family: CurveFamily) -> str:
    alone = "" if family.pooled else ", first repetition"
    return f"{family.title}: {metric_name(family.metric)} by {_along(family)}{alone}"


def _along(family: CurveFamily) -> str:
    return metric_name(family.along.replace("_bytes", "_size"))


def _name(curve: Curve, family: CurveFamily) -> str:
    environment = labelled(curve.environment, curve.emulated)
    alone = len({other.environment for other in family.curves}) == 1
    if not curve.label:
        return environment
    return curve.label if alone else f"{environment} · {curve.label}"


class _Look(msgspec.Struct, frozen=True):
    """How a curve is drawn."""

    place: int
    """Of the mark that gives its colour and its shape."""
    style: str

    @property
    def colour(self) -> str:
        return environment_colour(self.place)


def _looks(evaluation: Evaluation, family: CurveFamily) -> list[_Look]:
    """One for each curve: environments have the marks, arms share them and differ in their line.

    With one environment in the picture, the arms have the marks.
    """
    labels = list(dict.fromkeys(curve.label for curve in family.curves))
    alone = len({curve.environment for curve in family.curves}) == 1 and len(labels) > 1
    marks = marks_of(evaluation.environments)
    looks = []
    for curve in family.curves:
        arm = labels.index(curve.label)
        place = arm % MARKS if alone else marks[curve.environment]
        looks.append(_Look(place, _STYLES[(arm // MARKS if alone else arm) % len(_STYLES)]))
    return looks


def _render(draw: Callable[[Figure], None], family: CurveFamily, height: float, name: str) -> str:
    return render(
        draw,
        height=height,
        name=name,
        title=_title(family),
        description="; ".join(_words(curve, family) for curve in family.curves),
    )


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

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for k, curve in enumerate(family.curves):
            _line(axes, curve, looks[k], _name(curve, family))
        if family.metric == "speed_up":
            _ideal(axes, family)
        points = [point for curve in family.curves for point in curve.points]
        _axis(axes, "x", [float(point.at) for point in points], family.along_unit)
        _axis(axes, "y", [v for p in points for v in (p.quantile_25, p.quantile_75)], family.unit)
        _mark(axes, family)
        axes.grid(zorder=0)
        axes.set_xlabel(_along(family))
        pad = 16 if family.moments else None  # their names are above the curves
        axes.set_title(_title(family), loc="left", fontsize=9, fontweight="bold", pad=pad)
        if len(family.curves) > 1 or family.metric == "speed_up":
            axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))

    return _render(draw, family, 3.2, name)


def _mark(axes: Axes, family: CurveFamily) -> None:
    for name, at in family.moments.items():
        axes.axvline(at, color=MUTED, linestyle="dotted", linewidth=1, zorder=1)
        axes.annotate(
            name,
            (at, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            fontsize=7,
            color=MUTED,
        )


def _line(axes: Axes, curve: Curve, look: _Look, label: str) -> None:
    along = [float(point.at) for point in curve.points]
    medians = [point.median for point in curve.points]
    marked = environment_marker(look.place) if len(along) <= MARKED else {}
    axes.plot(
        along,
        medians,
        color=look.colour,
        linestyle=look.style,
        markersize=4.5,
        linewidth=1.6,
        label=label,
        zorder=3,
        **marked,
    )
    low = [point.quantile_25 for point in curve.points]
    high = [point.quantile_75 for point in curve.points]
    axes.fill_between(along, low, high, color=look.colour, alpha=0.16, linewidth=0, zorder=2)


def _scatter(evaluation: Evaluation, family: CurveFamily, name: str) -> str:
    """A point for each arm with its name, the quartiles of both figures as bars."""
    looks = _looks(evaluation, family)
    ends = [
        (point, (point.at_25 or 0.0, point.at_75 or 0.0))
        for curve in family.curves
        for point in curve.points
    ]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        if family.kind == "frontier":
            _join(axes, family)
        for k, curve in enumerate(family.curves):
            for point in curve.points:
                _cross(axes, point, looks[k], _name(curve, family))
        _axis(axes, "x", [v for _, places in ends for v in places], family.along_unit)
        _axis(axes, "y", [v for p, _ in ends for v in (p.quantile_25, p.quantile_75)], family.unit)
        axes.margins(x=0.12, y=0.1)
        axes.grid(zorder=0)
        axes.set_xlabel(_along(family))
        axes.set_title(
            _title(family).replace(" by ", " over "), loc="left", fontsize=9, fontweight="bold"
        )
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=7)

    return _render(draw, family, 4.2, name)


def _cross(axes: Axes, point: CurvePoint, look: _Look, name: str) -> None:
    colour, marked = look.colour, environment_marker(look.place)
    at = float(point.at)
    width = [at if end is None else end for end in (point.at_25, point.at_75)]
    axes.plot(width, [point.median] * 2, color=colour, linewidth=1.2)
    axes.plot([at, at], [point.quantile_25, point.quantile_75], color=colour, linewidth=1.2)
    axes.plot([at], [point.median], linestyle="", markersize=5.5, zorder=3, label=name, **marked)
    axes.annotate(
        name, (at, point.median), xytext=(4, 4), textcoords="offset points", fontsize=7, zorder=4
    )


def _join(axes: Axes, family: CurveFamily) -> None:
    """Through those that no other one beats, as steps: between two there is nothing but them."""
    points = {str(k): curve.points[0] for k, curve in enumerate(family.curves)}
    best = frontier({k: (p.median, float(p.at)) for k, p in points.items()})
    places = sorted((float(points[k].at), points[k].median) for k in best)
    axes.step(
        [at for at, _ in places],
        [value for _, value in places],
        where="pre",
        color=MUTED,
        linestyle="dotted",
        linewidth=1,
        label="beaten by none",
        zorder=1,
    )


def _ideal(axes: Axes, family: CurveFamily) -> None:
    first = min(float(curve.points[0].at) for curve in family.curves)
    last = max(float(curve.points[-1].at) for curve in family.curves)
    if first > 0:
        ends = ([first, last], [1.0, last / first])
        axes.plot(*ends, color=MUTED, linestyle="dotted", linewidth=1, label="ideal")


def _axis(axes: Axes, which: str, values: list[float], unit: str) -> None:
    """Readable ticks in the unit's own prefixes, logarithmic where the values are far apart.

    Values on both sides of 0 that are far apart get an axis that is linear around 0 alone.
    """
    axis = axes.xaxis if which == "x" else axes.yaxis
    set_scale = axes.set_xscale if which == "x" else axes.set_yscale
    low, high = min(values), max(values)
    largest = max(abs(low), abs(high))
    usual = float(np.median(np.abs(values)))
    whole = which == "y" and unit == "%" and low >= 0 and high <= 100
    if whole:  # a load is read against what there is
        axes.set_ylim(0, 104)
    if low > 0 and high / low >= WIDE and not whole:
        set_scale("log")
        axis.set_major_locator(LogLocator(numticks=10))
    elif low <= 0 and 0 < usual <= largest / WIDE and not whole:
        set_scale("symlog", linthresh=10.0 ** math.floor(math.log10(usual)))
    else:
        axis.set_major_locator(_locator(values, unit, few=which == "x"))
        axis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value, largest, unit)))
        return
    axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value, abs(value), unit)))


def _locator(values: list[float], unit: str, *, few: bool) -> Locator:
    """At the values themselves where they are a few whole numbers, as numbers of threads are."""
    whole = _whole(values, unit)
    if few and whole and len(places := sorted(set(values))) <= FEW:
        return FixedLocator(places)
    return MaxNLocator(6, steps=[1, 2, 5, 10], integer=whole)


def _tick(value: float, largest: float, unit: str) -> str:
    factor, shown = scale(largest, unit)
    return f"{value / factor:.6g} {shown}".strip()


def _whole(values: list[float], unit: str) -> bool:
    return unit in ("", "1") and all(value == int(value) for value in values)


def _dots(evaluation: Evaluation, family: CurveFamily, name: str) -> str:
    """A row for each word, in the order of their first appearance, with a dot for each curve."""
    looks = _looks(evaluation, family)
    words = list(dict.fromkeys(point.at for curve in family.curves for point in curve.points))
    several = len(family.curves) > 1

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        plain_axis(axes, [str(word) for word in words])
        for k, curve in enumerate(family.curves):
            shift = 0.8 * ((k + 0.5) / len(family.curves) - 0.5)
            marked = environment_marker(looks[k].place)
            axes.plot([], [], linestyle="", label=_name(curve, family), **marked)
            for point in curve.points:
                _dot(axes, words.index(point.at) + shift, point, looks[k], family.unit)
        points = [point for curve in family.curves for point in curve.points]
        values = [v for p in points for v in (p.quantile_25, p.quantile_75)]
        # Shares of a whole, as the traffic of links: what is idle has to look so.
        amounts = family.unit == "B" and min(values) >= 0
        _axis(axes, "x", [0.0, max(values)] if amounts else values, family.unit)
        if amounts:
            axes.set_xlim(0, 1.04 * max(values) or 1)
        axes.set_title(_title(family), loc="left", fontsize=9, fontweight="bold")
        if several:
            figure.legend(loc="outside lower left", ncols=4)

    rows = len(words) * (0.1 + 0.17 * len(family.curves))
    return _render(draw, family, 0.7 + 0.25 * several + rows, name)


def _dot(axes: Axes, row: float, point: CurvePoint, look: _Look, unit: str) -> None:
    ends = [point.quantile_25, point.quantile_75]
    axes.plot(ends, [row, row], color=look.colour, linewidth=2.4, solid_capstyle="butt")
    axes.plot([point.median], [row], markersize=5.5, **environment_marker(look.place))
    note(axes, row, f"{quantity(point.median, unit)} · n = {point.n}")
