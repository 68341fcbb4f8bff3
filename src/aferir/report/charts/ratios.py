"""Charts of ratios to the baseline with their intervals, by group and environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from aferir.report.charts.rows import Bar, Drawn, Line, Panel, Point, Row, rows_chart
from aferir.report.charts.scales import Axis
from aferir.report.formatting import change, labelled
from aferir.report.marks import places
from aferir.report.model import CellResult, Evaluation, Rank

FAR = 2.0
"""Ratio from which on (or below its inverse) a row moves to a logarithmic panel: on one axis with a
ratio of 38, the difference between +1 % and +5 % would be invisible.
"""


_SMALL = (0.02, 0.98)
"""Quantiles between which the axis covers the small marks; marks outside are drawn at its edge."""


def ratio_chart(
    evaluation: Evaluation, cells: Sequence[CellResult], *, name: str = "ratios", title: str = ""
) -> str:
    """Chart of the cells' ratios to the baseline; every cell has one."""
    marks = places(evaluation.environments)
    rows = [(_ratio(cell), _row(cell, marks)) for cell in cells]
    about = title or f"Duration as a ratio to {evaluation.baseline}"
    return rows_chart(
        _panels(rows, evaluation, title),
        name=name,
        title=about,
        description="; ".join(f"{row.label}: {row.note}" for _, row in rows),
    )


def overall_chart(evaluation: Evaluation) -> str:
    """One row for each environment: its ratios on all groups, and their geometric mean."""
    marks = places(evaluation.environments)
    ranks = [rank for rank in evaluation.ranking if not rank.baseline]
    rows = [(rank.ratio, _overall(rank, evaluation, marks)) for rank in ranks]
    return rows_chart(
        _panels(rows, evaluation, ""),
        name="overall",
        title=f"Duration as a ratio to {evaluation.baseline}, over all groups",
        description="; ".join(f"{row.label}: {row.note}" for _, row in rows),
    )


def _panels(
    rows: Sequence[tuple[float, Row]], evaluation: Evaluation, title: str
) -> tuple[Panel, ...]:
    """Rows close to 1 on a linear axis, the others on a logarithmic one."""
    near = [row for ratio, row in rows if not _far(ratio)]
    far = [row for ratio, row in rows if _far(ratio)]
    threshold = evaluation.rule.threshold
    panels: list[Panel] = []
    for part, logarithmic in ((near, False), (far, True)):
        if part:
            scale = ", logarithmic" if logarithmic else ""
            panels.append(
                Panel(
                    title="" if panels else title,
                    rows=tuple(part),
                    axis=_axis([drawn for row in part for drawn in row.drawn], logarithmic),
                    below=f"duration against {evaluation.baseline}{scale}",
                    zero=1.0,
                    band=None if logarithmic else (1 / (1 + threshold), 1 + threshold),
                )
            )
    return tuple(panels)


def _ratio(cell: CellResult) -> float:
    assert cell.ratio is not None
    assert cell.ratio.estimate is not None
    return cell.ratio.estimate


def _far(ratio: float) -> bool:
    return not 1 / FAR < ratio < FAR


def _row(cell: CellResult, marks: Mapping[str, int]) -> Row:
    assert cell.ratio is not None
    estimate, interval = _ratio(cell), cell.ratio.interval
    place = marks[cell.environment]
    drawn: list[Drawn] = []
    if cell.emulated:
        drawn.append(Bar(1.0, estimate, "plain", hatched=True))
    if interval is not None:
        drawn.append(Line(interval.low, interval.high, f"e{place}"))
    return Row(
        label=f"{cell.group} · {labelled(cell.environment, cell.emulated)}",
        note=f"{change(estimate, interval)} · n = {cell.ratio.n}{_stalling(cell)}",
        place=place,
        drawn=(*drawn, Point(estimate, place)),
    )


def _stalling(cell: CellResult) -> str:
    """Second line of a row's note: how often it stalled, and the ratio of means."""
    if cell.verdict is None or cell.verdict.outcome != "stalls":
        return ""
    assert cell.ratio is not None
    assert cell.ratio.costs is not None
    costs = cell.ratio.costs
    counts = f"{costs.stalls.stalled} of {costs.stalls.n} stalled"
    return f"\n{counts}, mean {change(costs.mean, costs.mean_interval)}"


def _overall(rank: Rank, evaluation: Evaluation, marks: Mapping[str, int]) -> Row:
    own = [
        cell.ratio.estimate
        for cell in evaluation.cells
        if cell.environment.partition("[")[0] == rank.environment
        and cell.ratio is not None
        and cell.ratio.estimate is not None
    ]
    place = marks[rank.environment]
    drawn: list[Drawn] = []
    if rank.emulated:
        drawn.append(Bar(1.0, rank.ratio, "plain", hatched=True))
    drawn += [Point(ratio, place, size=0.55) for ratio in own]
    if rank.interval is not None:
        drawn.append(Line(rank.interval.low, rank.interval.high, "ink", wide=3))
    return Row(
        label=labelled(rank.environment, rank.emulated),
        note=f"{change(rank.ratio, rank.interval)} · {rank.groups} groups",
        place=place,
        drawn=(*drawn, Point(rank.ratio, place, size=1.3)),
    )


def _axis(drawn: Sequence[Drawn], logarithmic: bool) -> Axis:
    """Axis that covers all estimates and intervals of moderate width; wider intervals are cut."""
    ends = [1.0]
    reach = 4.0 if logarithmic else 1.6
    points = [one.at for one in drawn if isinstance(one, Point) and one.size >= 1]
    usual = max(points), min(points)
    ends += points
    small = [one.at for one in drawn if isinstance(one, Point) and one.size < 1]
    ends += np.quantile(small, _SMALL).tolist() if small else []
    for one in drawn:
        if isinstance(one, Line):
            ends += [max(one.low, usual[1] / reach), min(one.high, usual[0] * reach)]
    low, high = min(ends), max(ends)
    if logarithmic:
        return Axis(low / 1.15, high * 1.15, lambda ratio: f"{ratio:g} times", logarithmic=True)
    room = max(0.06 * (high - low), 0.004)
    return Axis(low - room, high + room, _percent)


def _percent(ratio: float) -> str:
    share = round(100 * (ratio - 1), 6)
    return f"{share:+g} %" if share else "0"
