"""Where the difference comes from: what an environment costs as a sum of causes."""

from __future__ import annotations

from aferir.report.blocks import Block, Paragraph, Picture, Section, Subject, Table
from aferir.report.causes import UNEXPLAINED, Explanation, ends_of, sentence
from aferir.report.charts.waterfall import waterfall_chart
from aferir.report.formatting import NOTHING, percent
from aferir.statistics.intervals import Interval


def section(subject: Subject) -> Section | None:
    """Where the causes of a comparison were looked for."""
    if not subject.explanations:
        return None
    blocks: list[Block] = []
    for place, one in enumerate(subject.explanations):
        blocks += [_picture(one, place), Paragraph(sentence(one)), _table(one)]
    return Section(title="Where the difference comes from", blocks=tuple(blocks))


def _picture(one: Explanation, place: int) -> Picture:
    return Picture(lambda: (waterfall_chart(one, name=f"causes-{place}"),))


def _table(one: Explanation) -> Table:
    rows = [(cause.name, cause.effect, cause.interval) for cause in one.causes]
    rows.append((UNEXPLAINED, one.rest, one.rest_interval))
    rows.append(("altogether", one.total, one.total_interval))
    header = ("cause", f"of the duration on {one.baseline}", "interval")
    return Table(header, tuple((name, percent(x, sign=True), _shown(i)) for name, x, i in rows))


def _shown(interval: Interval | None) -> str:
    return ends_of(interval) if interval is not None else NOTHING
