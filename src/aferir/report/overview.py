"""A run at a glance: how many comparisons came to what, the worst of them, and what failed.

A run with a dozen environments and sixty workloads has hundreds of comparisons; all of them in
sentences fill several screens. Then these few lines are the first thing that is read, and the
sentences follow as details.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from aferir.model.plan import environment_family
from aferir.report.formatting import change, labelled, listing, percent
from aferir.report.model import CellResult, Evaluation, Rank
from aferir.report.sentences import stalled
from aferir.statistics.intervals import Interval
from aferir.statistics.verdict import Outcome

WORST = 3
"""So many are named."""
_LETTERS = 110
"""Of a line of the page."""
_LINES = 10
"""What takes more than these to say in sentences is summarised first."""


class Costly(msgspec.Struct, frozen=True, kw_only=True):
    """A comparison in which an environment surely takes longer than the baseline."""

    environment: str
    group: str
    ratio: float
    interval: Interval | None
    n: int


class Failed(msgspec.Struct, frozen=True, kw_only=True):
    """An environment in which repetitions failed."""

    environment: str
    groups: tuple[str, ...]
    """In which at least one did."""
    without_result: int
    """Of those groups: all repetitions failed."""
    repetitions: int
    of: int
    """Repetitions in those groups, the good ones included."""
    codes: tuple[str, ...]


class EnvironmentOverview(msgspec.Struct, frozen=True, kw_only=True):
    """What one environment's comparisons came to; the family counts its variants together."""

    environment: str
    emulated: bool
    groups: int
    """Groups in which it was to be compared."""
    outcomes: dict[Outcome, int]
    """Comparisons by outcome; empty for an emulated environment, which makes no claim."""
    failed: int
    """Repetitions."""


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """All of it."""

    baseline: str
    groups: int
    comparisons: int
    """With a verdict, or none for lack of results; emulated ones are not among them."""
    outcomes: dict[Outcome, int]
    margin: float
    """Differences up to it are called none."""
    environments: tuple[EnvironmentOverview, ...]
    worst: tuple[Costly, ...]
    """The largest ratios that are claimed, largest first; at most `WORST`."""
    failed: tuple[Failed, ...]
    """Most repetitions first."""


def overview(evaluation: Evaluation) -> Overview:
    """Count what the cells came to."""
    compared = [cell for cell in evaluation.cells if not cell.baseline]
    real = [cell for cell in compared if not cell.emulated]
    families = dict.fromkeys(environment_family(cell.environment) for cell in compared)
    return Overview(
        baseline=evaluation.baseline,
        groups=len(evaluation.groups),
        comparisons=len(real),
        outcomes=_outcomes(real),
        margin=evaluation.rule.margin,
        environments=tuple(_environment(family, compared) for family in families),
        worst=_worst(real),
        failed=_failed(evaluation.cells),
    )


def too_long(evaluation: Evaluation) -> bool:
    """Whether the sentences of a comparison take more than a first screen should."""
    lines = sum(math.ceil(len(sentence.text) / _LETTERS) for sentence in evaluation.sentences)
    return lines > _LINES and not all(cell.baseline for cell in evaluation.cells)


def opening(evaluation: Evaluation) -> tuple[str, ...]:
    """What is said first: the sentences, or the lines of the overview where those are too long."""
    if too_long(evaluation):
        return lines(evaluation)
    return tuple(sentence.text for sentence in evaluation.sentences)


def lines(evaluation: Evaluation) -> tuple[str, ...]:
    """The overview in words: a handful of lines, however wide the run."""
    seen = overview(evaluation)
    found = [_counts(seen), *_overall(evaluation.ranking), *_costly(seen)]
    found += _stalling(evaluation.cells)
    found += [_failures(seen.failed)] if seen.failed else []
    emulated = [one.environment for one in seen.environments if one.emulated]
    if emulated:
        verb = "is" if len(emulated) == 1 else "are"
        found.append(
            f"{listing(emulated)} {verb} emulated in software, which says nothing about virtual "
            "machines under KVM; no claim is made."
        )
    return tuple(found)


def _outcome(cell: CellResult) -> Outcome:
    return cell.verdict.outcome if cell.verdict else "unknown"


def _outcomes(cells: Sequence[CellResult]) -> dict[Outcome, int]:
    found: dict[Outcome, int] = {}
    for cell in cells:
        found[_outcome(cell)] = found.get(_outcome(cell), 0) + 1
    return found


def _environment(family: str, cells: Sequence[CellResult]) -> EnvironmentOverview:
    own = [cell for cell in cells if environment_family(cell.environment) == family]
    emulated = any(cell.emulated for cell in own)
    return EnvironmentOverview(
        environment=family,
        emulated=emulated,
        groups=len(own),
        outcomes={} if emulated else _outcomes(own),
        failed=sum(failure.repetitions for cell in own for failure in cell.failures),
    )


def _worst(cells: Sequence[CellResult]) -> tuple[Costly, ...]:
    found = [
        Costly(
            environment=cell.environment,
            group=cell.group,
            ratio=cell.ratio.estimate,
            interval=cell.ratio.interval,
            n=cell.ratio.n,
        )
        for cell in cells
        if cell.ratio is not None and cell.ratio.estimate is not None and _outcome(cell) == "higher"
    ]
    return tuple(sorted(found, key=lambda one: -one.ratio)[:WORST])


def _failed(cells: Sequence[CellResult]) -> tuple[Failed, ...]:
    found = []
    for family in dict.fromkeys(environment_family(cell.environment) for cell in cells):
        own = [c for c in cells if environment_family(c.environment) == family and c.failures]
        if not own:
            continue
        repetitions = sum(failure.repetitions for cell in own for failure in cell.failures)
        found.append(
            Failed(
                environment=family,
                groups=tuple(cell.group for cell in own),
                without_result=sum(not cell.points for cell in own),
                repetitions=repetitions,
                of=repetitions + sum(len(cell.points) for cell in own),
                codes=tuple(dict.fromkeys(f.failure.code for c in own for f in c.failures)),
            )
        )
    return tuple(sorted(found, key=lambda one: -one.repetitions))


def _counts(seen: Overview) -> str:
    said: dict[Outcome, str] = {
        "higher": "slower",
        "lower": "faster",
        "equivalent": f"without a difference larger than {percent(seen.margin)}",
        "stalls": "with other stalls",
        "alike": f"within {percent(seen.margin)} in typical repetitions",
        "undecided": "undecided",
        "unknown": "without enough results",
    }
    parts = [f"{seen.outcomes[o]} {words}" for o, words in said.items() if seen.outcomes.get(o)]
    count = len([one for one in seen.environments if not one.emulated])
    return (
        f"{count} {_plural(count, 'environment')} against {seen.baseline} on {seen.groups} "
        f"{_plural(seen.groups, 'group')}, {seen.comparisons} comparisons: {listing(parts)}."
    )


def _overall(ranking: Sequence[Rank]) -> list[str]:
    real = [rank for rank in ranking if not rank.baseline and not rank.emulated]
    real.sort(key=lambda rank: -rank.ratio)
    if not real:
        return []
    if len(real) <= WORST + 1:
        return [f"Over all groups (geometric mean): {listing([_rank(rank) for rank in real])}."]
    most = listing([_rank(rank) for rank in real[:WORST]])
    return [f"Over all groups (geometric mean), most: {most}; least: {_rank(real[-1])}."]


def _rank(rank: Rank) -> str:
    return f"{rank.environment} {change(rank.ratio, rank.interval)}"


def _costly(seen: Overview) -> list[str]:
    if not seen.worst:
        return ["No environment surely takes longer than the baseline in any group."]
    parts = [
        f"{one.environment} on {one.group}, {change(one.ratio, one.interval)} (n = {one.n})"
        for one in seen.worst
    ]
    return [f"Costs most: {'; '.join(parts)}."]


def _stalling(cells: Sequence[CellResult]) -> list[str]:
    """The cells of which stalls are the verdict, those first whose mean they raise most."""
    found = [
        (cell.ratio.costs, cell)
        for cell in cells
        if not cell.emulated and _outcome(cell) == "stalls" and cell.ratio and cell.ratio.costs
    ]
    if not found:
        return []
    found.sort(key=lambda one: -one[0].mean)
    parts = [
        f"{cell.environment} on {cell.group}, {stalled(costs.stalls)}, "
        f"the baseline {stalled(costs.stalls_baseline)}, "
        f"mean {change(costs.mean, costs.mean_interval)}"
        for costs, cell in found[:WORST]
    ]
    more = f"; {len(found) - WORST} more" if len(found) > WORST else ""
    return [f"Stalls: {'; '.join(parts)}{more}."]


def _failures(failed: Sequence[Failed]) -> str:
    parts = []
    for one in failed[:WORST]:
        where = one.groups[0] if len(one.groups) == 1 else f"{len(one.groups)} groups"
        none = f", {one.without_result} without any result" if one.without_result else ""
        parts.append(
            f"{labelled(one.environment, emulated=False)} on {where}{none}: {one.repetitions} of "
            f"{one.of} repetitions ({listing(list(one.codes))})"
        )
    more = f"; {len(failed) - WORST} more environments" if len(failed) > WORST else ""
    return f"Failed: {'; '.join(parts)}{more}."


def _plural(count: int, word: str) -> str:
    return word if count == 1 else f"{word}s"
