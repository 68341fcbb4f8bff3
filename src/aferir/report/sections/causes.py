"""Section on the causes of an environment's cost."""

from __future__ import annotations

from aferir.report.blocks import Block, Field, Paragraph, Picture, Section, Subject, Table
from aferir.report.causes import DURATION, UNEXPLAINED, Explanation, ends_of, pair_names
from aferir.report.charts.waterfall import waterfall_chart
from aferir.report.formatting import NOTHING, metric_name, p_value, percent
from aferir.statistics.intervals import Interval

_HOW = (
    "Each cause is what its feature adds on average over all arms that have the other features or "
    "have them not, and what two add together is shared between them; so the causes add up to the "
    "difference between all features and none. The rest is what stays without any of them. The "
    "intervals of the causes hold for all of them together."
)


def section(subject: Subject) -> Section | None:
    """The section, if causes of a comparison were measured."""
    explanations = subject.evaluation.explanations
    if not explanations:
        return None
    blocks: list[Block] = [Paragraph(_HOW, quiet=True)]
    for place, one in enumerate(explanations):
        blocks += [_picture(one, place), _table(one)]
        blocks += [_interactions(one)] if one.interactions else []
    return Section(title="Where the difference comes from", blocks=tuple(blocks))


def _picture(one: Explanation, place: int) -> Picture:
    return Picture(lambda: (waterfall_chart(one, name=f"causes-{place}"),))


def _table(one: Explanation) -> Table:
    what = "duration" if one.metric == DURATION else metric_name(one.metric)
    header = ("cause", f"of the {what} on {one.baseline}", "interval", "p", "how it is taken away")
    rows: list[tuple[Field, ...]] = [
        (
            cause.name,
            percent(cause.effect, sign=True),
            _shown(cause.interval),
            p_value(cause.p_value),
            cause.remedy or NOTHING,
        )
        for cause in one.causes
    ]
    for name, effect, interval in (
        (UNEXPLAINED, one.rest, one.rest_interval),
        ("altogether", one.total, one.total_interval),
    ):
        rows.append((name, percent(effect, sign=True), _shown(interval), NOTHING, NOTHING))
    return Table(header, tuple(rows))


def _interactions(one: Explanation) -> Table:
    """Table of interactions; aliased pairs share a row."""
    rows = tuple(
        (
            pair_names(each.pairs),
            percent(each.effect, sign=True),
            ends_of(each.interval),
            "yes" if each.claimed else "no",
        )
        for each in one.interactions
    )
    return Table(("together", "more than alone", "interval", "sure"), rows)


def _shown(interval: Interval | None) -> str:
    return ends_of(interval) if interval is not None else NOTHING
