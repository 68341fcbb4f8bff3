"""Rooflines: operations/s of programs by operations/byte, on logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from aferir.report.charts.plane import Drawn, Path, Spot, Words, plane_chart
from aferir.report.charts.scales import Axis, own_ticks
from aferir.report.formatting import labelled, percent, quantity
from aferir.report.marks import places
from aferir.report.model import Evaluation, Roofline, UnderRoof
from aferir.statistics.roofline import Roof

_LEAST, _MOST = 0.05, 100.0
"""Range of operations/byte that the picture covers, unless a program is outside."""
_NEAR = 1.8
"""Approximate width of a name, as a ratio on the axis."""


def roofline_charts(evaluation: Evaluation) -> tuple[str, ...]:
    """One SVG for each roofline."""
    marks = places(evaluation.environments)
    return tuple(
        _chart(roofline, marks[roofline.environment], f"roofline-{place}")
        for place, roofline in enumerate(evaluation.rooflines)
    )


def _chart(roofline: Roofline, place: int, name: str) -> str:
    environment = labelled(roofline.environment, roofline.emulated)
    title = f"{environment}{', ' if roofline.label else ''}{roofline.label}: roofline"
    described = [
        f"{p.workload}: {quantity(p.flops, 'flop/s')}, {percent(p.share)} of {_of(p)}"
        for p in roofline.programs
    ]
    return plane_chart(
        [*_roofs(roofline), *_programs(roofline, place)],
        _axes(roofline),
        name=name,
        title=title,
        description="; ".join(described),
        below="operations a byte of memory traffic (model)",
        height=340,
    )


def _of(program: UnderRoof) -> str:
    return (
        "the peak, served by caches" if program.limit == "caches" else f"the {program.limit} roof"
    )


def _ends(roofline: Roofline) -> tuple[float, float]:
    known = [p.intensity for p in roofline.programs]
    return min([_LEAST, *(k / 2 for k in known)]), max([_MOST, *(k * 2 for k in known)])


def _roofs(roofline: Roofline) -> list[Drawn]:
    roof = Roof(roofline.peak_flops, roofline.bandwidth_bps)
    low, high = _ends(roofline)
    corners = [low, min(max(roof.ridge, low), high), high]
    return [
        Path(tuple((corner, roof.at(corner)) for corner in corners), "ink", wide=1.8),
        Words((high, roof.peak), f"peak {quantity(roof.peak, 'flop/s')}", "end", up=8),
        Words((low, roof.at(low)), f"memory {quantity(roof.bandwidth, 'B/s')}", right=10, up=-6),
    ]


def _programs(roofline: Roofline, place: int) -> list[Drawn]:
    drawn: list[Drawn] = []
    for program in roofline.programs:
        at = program.intensity
        left = name_at_left(at, [other.intensity for other in roofline.programs])
        side, right = ("end", -9) if left else ("", 9)
        drawn += [
            Path(((at, program.flops), (at, program.roof_flops)), "muted", "dotted", wide=1.2),
            Spot((at, program.flops), place, size=1.0),
            Words((at, program.flops), program.workload, side, right=right, up=-8),
            Words((at, program.flops), percent(program.share), side, right=right, up=-21),
        ]
    return drawn


def name_at_left(at: float, all_intensities: Sequence[float]) -> bool:
    """True if the next program to the right is so close that a name would overlap its mark."""
    above = min((other / at for other in all_intensities if other > at), default=math.inf)
    below = min((at / other for other in all_intensities if other < at), default=math.inf)
    return above < _NEAR and above < below


def _axes(roofline: Roofline) -> tuple[Axis, Axis]:
    low, high = _ends(roofline)
    roof = Roof(roofline.peak_flops, roofline.bandwidth_bps)
    rates = [roof.at(low), roof.peak, *(program.flops for program in roofline.programs)]
    return (
        Axis(low, high, "{:g}".format, logarithmic=True),
        Axis(min(rates) / 2.5, 1.6 * max(rates), own_ticks("flop/s"), logarithmic=True),
    )
