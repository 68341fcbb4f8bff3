"""The page of an evaluation, made of the same blocks as a report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from aferir.evaluate.costs import Cost
from aferir.evaluate.judge import Crossing, Judgement, Missing, Move, Standing
from aferir.evaluate.profile import Criterion, Profile
from aferir.model.record import Warning
from aferir.report.blocks import (
    Alerts,
    Block,
    Field,
    Named,
    Paragraph,
    Picture,
    Section,
    Statement,
    Statements,
    Table,
)
from aferir.report.charts.rows import Line, Panel, Point, Row, rows_chart
from aferir.report.charts.scales import Axis
from aferir.report.formatting import NOTHING, change, labelled, listing, number, percent
from aferir.report.marks import places
from aferir.statistics.intervals import Interval

_LEVEL = 0.95
_ALMOST = 0.995
_WIDE = 3.0
"""Smallest ratio of the ends of an axis at which it is logarithmic."""
MEANING: Mapping[Criterion, str] = {
    "performance": "duration over the baseline's, mean over the groups that all environments have",
    "energy": "energy of one result",
    "elasticity": "time of use, allocation and release, over the time of use",
    "time-precision": "1 plus the clock's error over the tolerated one",
    "isolation": "duration beside neighbours over that of a tenant that is alone",
    "price": "price of an hour",
}
"""Definition of the cost by each criterion, as the page shows it."""
_REMEDIES: Mapping[Criterion, str] = {
    "performance": "run programs in it beside the baseline: experiments/this-machine.toml",
    "energy": "run programs of I/O with a [server]: experiments/io-costs.toml",
    "elasticity": "any run of it with two repetitions or more measures allocations",
    "time-precision": "run a study of clocks in it: experiments/clock-cost.toml",
    "isolation": "run it with environment.tenants = [1, 2]: experiments/tenants.toml",
    "price": "write its price of an hour into [price]",
}


def sections(
    profile: Profile, judgement: Judgement, environments: Sequence[str], before: str = ""
) -> tuple[Section, ...]:
    """All sections; the first one has no title.

    `before` is the winner by the file's weights, if other weights were asked for.
    """
    made = [
        _answer(judgement, before),
        _ranking(judgement, environments),
        _moves(judgement),
        _costs(judgement, environments),
        _missing(judgement.missing),
        _method(profile, judgement),
    ]
    return tuple(section for section in made if section is not None)


def _answer(judgement: Judgement, before: str) -> Section:
    found = [*_statements(judgement, before)]
    left_out = [one for one in judgement.missing if not one.environment]
    alerts = tuple(
        Warning("left-out", f"no environment has a figure of {one.criterion}", _remedy(one))
        for one in left_out
    )
    blocks: list[Block] = [Statements(tuple(found))]
    return Section(title="", blocks=(*blocks, *([Alerts(alerts)] if alerts else [])))


def _statements(judgement: Judgement, before: str) -> Iterator[Statement]:
    if not judgement.standings:
        yield Statement("No environment has a figure for every criterion: see what is missing.")
        return
    first = judgement.standings[0]
    yield Statement(
        f"{labelled(first.environment, first.emulated)} is worth most for these weights: first in "
        f"{_share(first.first_share)} of {judgement.draws:,} draws of all figures."
        + (" These runs do not settle it." if first.worst_place > 1 else ""),
        first.environment,
        first.emulated,
    )
    if before and before != first.environment:
        yield Statement(
            f"These weights change the winner: by those of the file it would be {before}.", before
        )
    nearest = [said for move in judgement.moves for said in _crossings(move)]
    if nearest:
        for environment in dict.fromkeys(crossing.environment for _, crossing in nearest):
            own = [said for said, crossing in nearest if crossing.environment == environment]
            yield Statement(f"{environment} would be first if {_or(own)}.", environment)
    elif len(judgement.standings) > 1:
        yield Statement("No change of one weight alone makes another environment first.")
    incomplete = sorted({one.environment for one in judgement.missing if one.environment})
    if incomplete:
        yield Statement(f"Not ranked, as figures are missing: {listing(incomplete)}.")


def _crossings(move: Move) -> Iterator[tuple[str, Crossing]]:
    for crossing, verb, way in ((move.below, "fell", "below"), (move.above, "rose", "above")):
        if crossing is not None:
            said = f"the weight of {move.criterion} {verb} from {move.weight:g} to {way} "
            yield said + number(crossing.weight), crossing


def _or(said: list[str]) -> str:
    return " or ".join([", ".join(said[:-1]), said[-1]] if len(said) > 1 else said)


def _share(share: float) -> str:
    """Share of the draws in words; never 0 or 100 %, since draws are a sample."""
    if share > _ALMOST:
        return f"more than {100 * _ALMOST:g} %"
    return f"less than {100 * (1 - _ALMOST):.2g} %" if share < 1 - _ALMOST else percent(share)


def _ranking(judgement: Judgement, environments: Sequence[str]) -> Section | None:
    if not judgement.standings:
        return None
    rows = tuple(
        (
            _places(one),
            Named(one.environment, one.emulated),
            change(one.score, one.interval) if i else f"first {_ends(one.interval)}",
            _share(one.first_share),
        )
        for i, one in enumerate(judgement.standings)
    )
    return Section(
        title="Ranking",
        blocks=(
            Picture(lambda: (_chart(judgement, environments),)),
            Table(("place", "environment", "cost over the first's [95 %]", "first in"), rows),
            Paragraph(
                "The cost is the weighted geometric mean of the costs below. Places hold 95 % of "
                "the draws: environments that share places cannot be told apart by these runs.",
                quiet=True,
            ),
        ),
    )


def _places(one: Standing) -> str:
    same = one.best_place == one.worst_place
    return str(one.best_place) if same else f"{one.best_place} to {one.worst_place}"


def _ends(interval: Interval) -> str:
    return change(1.0, interval).partition(" %")[2].strip()


def _chart(judgement: Judgement, environments: Sequence[str]) -> str:
    marks = places(environments)
    ends = [one.interval for one in judgement.standings]
    low = min(0.98, *(end.low for end in ends))
    high = max(1.02, *(end.high for end in ends))
    axis = Axis(low, high, lambda ratio: f"{ratio:.3g} times", logarithmic=high > _WIDE * low)
    rows = tuple(
        Row(
            label=labelled(one.environment, one.emulated),
            note=f"first in {_share(one.first_share)}",
            place=marks[one.environment],
            drawn=(
                Line(one.interval.low, one.interval.high, f"e{marks[one.environment]}"),
                Point(one.score, marks[one.environment]),
            ),
        )
        for one in judgement.standings
    )
    return rows_chart(
        [Panel(rows=rows, axis=axis, zero=1.0, below="weighted cost over that of the first")],
        name="worth",
        title="Weighted cost of each environment",
        description="; ".join(
            f"{one.environment}: {change(one.score, one.interval)}" for one in judgement.standings
        ),
    )


def _moves(judgement: Judgement) -> Section | None:
    if len(judgement.standings) < 2:
        return None
    rows = tuple(
        (move.criterion, f"{move.weight:g}", _crossing(move.below), _crossing(move.above))
        for move in judgement.moves
    )
    header = ("criterion", "weight", "below this weight", "above this weight")
    return Section(
        title="How far a weight may move",
        blocks=(
            Paragraph(
                f"{judgement.standings[0].environment} stays first between these weights, with all "
                "others unchanged. A dash: it stays first however far the weight moves that way.",
                quiet=True,
            ),
            Table(header, rows),
        ),
    )


def _crossing(crossing: Crossing | None) -> str:
    if crossing is None:
        return NOTHING
    return f"{number(crossing.weight)}: {crossing.environment}"


def _costs(judgement: Judgement, environments: Sequence[str]) -> Section | None:
    if not judgement.costs:
        return None
    criteria = list(dict.fromkeys(cost.criterion for cost in judgement.costs))
    table = {(cost.environment, cost.criterion): cost for cost in judgement.costs}
    least = {
        one: min(cost.log.value for cost in judgement.costs if cost.criterion == one)
        for one in criteria
    }
    rows: list[tuple[Field, ...]] = []
    for name in environments:
        own = [table.get((name, one)) for one in criteria]
        emulated = any(cost.emulated for cost in own if cost is not None)
        fields = (_cost(cost, least[one]) for cost, one in zip(own, criteria, strict=True))
        rows.append((Named(name, emulated), *fields))
    said = "; ".join(f"{one}: {MEANING[one]}" for one in criteria)
    return Section(
        title="What each criterion says",
        blocks=(
            Paragraph(f"Each cost over the least of its criterion. {said}.", quiet=True),
            Table(("environment", *criteria), tuple(rows)),
        ),
    )


def _cost(cost: Cost | None, least: float) -> str:
    if cost is None:
        return NOTHING
    log = cost.log.plus(-least)
    ends = log.interval(_LEVEL)
    interval = None
    if ends is not None and ends.high > ends.low:
        interval = Interval(math.exp(ends.low), math.exp(ends.high), _LEVEL, ends.method)
    return change(math.exp(log.value), interval)


def _missing(missing: Sequence[Missing]) -> Section | None:
    if not missing:
        return None
    rows = tuple(
        (one.environment or "every environment", one.criterion, _remedy(one)) for one in missing
    )
    return Section(
        title="What is missing",
        blocks=(Table(("environment", "criterion", "remedy"), rows),),
    )


def _remedy(one: Missing) -> str:
    return _REMEDIES[one.criterion]


def _method(profile: Profile, judgement: Judgement) -> Section:
    weights = ", ".join(f"{name} {weight:g}" for name, weight in judgement.weights.items())
    unsure = ""
    if judgement.unsure:
        unsure = f" Without a known error, and so not drawn: {listing([*judgement.unsure])}."
    return Section(
        title="Method",
        blocks=(
            Paragraph(
                f"Weights: {weights or 'none used'}. Runs: {listing([*profile.general.runs])}. "
                f"Each figure is drawn {judgement.draws:,} times from Student's t about its value, "
                f"independently of the others, with seed {judgement.seed}.{unsure} Runs that were "
                "measured at other times or with other settings are taken as they are.",
                quiet=True,
            ),
        ),
    )
