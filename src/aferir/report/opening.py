"""Opening of a report: its sentences, or a summary if there are too many.

A run with a dozen environments and sixty workloads has hundreds of comparisons. Then the summary
comes first, and the sentences follow as details.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from aferir.report.causes import advice, sentence
from aferir.report.formatting import change, labelled, listing, percent
from aferir.report.model import CellResult, Evaluation, Rank
from aferir.report.overview import WORST, Failed, Overview, overview
from aferir.report.sentences import outcome_of, stalled
from aferir.statistics.claims import shortage
from aferir.statistics.verdict import Outcome

_LETTERS = 110
"""Number of letters in a line of the page."""
_LINES = 20
"""Largest number of lines of sentences without a summary."""


def too_long(evaluation: Evaluation) -> bool:
    """True if the sentences about comparisons fill more than a first screen."""
    lines = sum(math.ceil(len(sentence.text) / _LETTERS) for sentence in evaluation.sentences)
    return lines > _LINES and not all(cell.baseline for cell in evaluation.cells)


def opening(evaluation: Evaluation) -> tuple[str, ...]:
    """First lines of a report: sentences about causes if known, else all sentences or a summary."""
    if explained := explanation_lines(evaluation):
        return explained
    if too_long(evaluation):
        return lines(evaluation)
    return (*(sentence.text for sentence in evaluation.sentences), *_shortage(evaluation))


def explanation_lines(evaluation: Evaluation) -> tuple[str, ...]:
    """Sentences about causes, if they were measured."""
    said = [line for one in evaluation.explanations for line in (sentence(one), *advice(one))]
    return (*said, *evaluation.not_explained)


def lines(evaluation: Evaluation) -> tuple[str, ...]:
    """Summary of a run in a few lines, however many comparisons it has."""
    seen = overview(evaluation)
    found = [_counts(seen), *_shortage(evaluation)]
    found += [*_overall(evaluation.ranking), *_costly(seen)]
    found += _stalls(seen, evaluation.cells)
    found += [_failures(seen.failed)] if seen.failed else []
    emulated = [one.environment for one in seen.environments if one.emulated]
    if emulated:
        verb = "is" if len(emulated) == 1 else "are"
        found.append(
            f"{listing(emulated)} {verb} emulated in software, which says nothing about virtual "
            "machines under KVM; no claim is made."
        )
    return tuple(found)


def _shortage(evaluation: Evaluation) -> list[str]:
    """Why nothing is claimed, if the repetitions were too few for any claim."""
    ratios = [
        cell.ratio
        for cell in evaluation.cells
        if cell.ratio is not None and cell.ratio.p_value is not None and not cell.emulated
    ]
    text = shortage(max((ratio.n for ratio in ratios), default=0), len(ratios))
    return [f"{text}."] if text else []


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


def _stalls(seen: Overview, cells: Sequence[CellResult]) -> list[str]:
    """Sentence about stalls: environments over all groups, then cells whose verdict is `stalls`."""
    parts = [
        f"{one.environment} in {one.stalled} of {one.of} repetitions ({seen.baseline} beside it in "
        f"{one.baseline_stalled} of {one.baseline_of})"
        for one in seen.stalling[:WORST]
    ]
    more = [f"{len(seen.stalling) - WORST} more environments"] if seen.stalling[WORST:] else []
    parts += more + _stalled_cells(cells)
    return [f"Stalls: {'; '.join(parts)}."] if parts else []


def _stalled_cells(cells: Sequence[CellResult]) -> list[str]:
    """Phrases for cells whose verdict is `stalls`, the largest ratio of means first."""
    found = [
        (cell.ratio.costs, cell)
        for cell in cells
        if not cell.emulated and outcome_of(cell) == "stalls" and cell.ratio and cell.ratio.costs
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
    return [*parts, *([f"{len(found) - WORST} more comparisons"] if len(found) > WORST else [])]


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
