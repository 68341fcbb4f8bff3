"""Waterfall chart: the cost of an environment as bars that start where the previous ended."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from aferir.report.causes import DURATION, UNEXPLAINED, Cause, Explanation, ends_of, sentence
from aferir.report.charts.rows import Bar, Drawn, Line, Panel, Row, rows_chart
from aferir.report.charts.scales import Axis
from aferir.report.formatting import metric_name, percent


def waterfall_chart(explained: Explanation, *, name: str = "waterfall") -> str:
    """Chart as SVG: a bar for each cause, for the unexplained rest, and for the total."""
    steps = [*explained.causes, _rest(explained)]
    ends = [0.0, *accumulate(step.effect for step in steps)]
    rows = [_row(step, start) for step, start in zip(steps, ends[:-1], strict=True)]
    whole = Cause(
        name=f"{explained.environment} on {explained.group}",
        effect=explained.total,
        interval=explained.total_interval,
    )
    rows.append(_row(whole, 0.0, tone="ink"))
    return rows_chart(
        [
            Panel(
                rows=tuple(rows),
                axis=_axis(rows),
                below=f"{_what(explained)} against {explained.baseline}, adding up",
                zero=0.0,
            )
        ],
        name=name,
        title=f"What {explained.environment} costs on {explained.group}, by cause",
        description=sentence(explained),
    )


def _what(explained: Explanation) -> str:
    if explained.metric == DURATION:
        return "duration"
    name = metric_name(explained.metric)
    return f"loss of {name}" if explained.higher else name


def _rest(explained: Explanation) -> Cause:
    return Cause(name=UNEXPLAINED, effect=explained.rest, interval=explained.rest_interval)


def _row(cause: Cause, start: float, *, tone: str = "") -> Row:
    end = start + cause.effect
    unsure = cause.name == UNEXPLAINED or not cause.claimed
    colour = tone or ("muted" if unsure else "bad" if cause.effect >= 0 else "good")
    drawn: list[Drawn] = [Bar(start, end, "plain" if unsure else colour, hatched=unsure)]
    if cause.interval is not None:
        ends = (start + cause.interval.low, start + cause.interval.high)
        drawn.append(Line(*ends, "muted" if tone else "ink", wide=1.6))
    interval = f" {ends_of(cause.interval)}" if cause.interval else ""
    return Row(
        label=cause.name,
        note=f"{percent(cause.effect, sign=True)}{interval}",
        quiet=unsure,
        drawn=tuple(drawn),
    )


def _axis(rows: Sequence[Row]) -> Axis:
    reached = [0.0]
    for row in rows:
        for one in row.drawn:
            if isinstance(one, Bar | Line):
                reached += [one.low, one.high]
    low, high = min(reached), max(reached)
    room = 0.04 * (high - low) or 0.01
    return Axis(low - room * (low < 0), high + room * (high > 0), _tick)


def _tick(share: float) -> str:
    shown = round(100 * share, 6)
    return f"{shown:+g} %" if shown else "0"
