"""Sentences about factors of an environment, such as pinning or the number of tenants.

Its variants are in different groups, each with the baseline's variant, so no ratio to the baseline
compares them with each other.
"""

from __future__ import annotations

from collections.abc import Sequence

from aferir.model.plan import Parameter, environment_family
from aferir.report.curves import ENVIRONMENT, FEWEST_LEVELS
from aferir.report.formatting import change, labelled, listing
from aferir.report.model import CellResult, Sentence
from aferir.report.pairs import duration_ratio


def variant_sentences(cells: Sequence[CellResult], *, level: float) -> tuple[Sentence, ...]:
    """Sentences that compare each level of a factor without a curve with its first level.

    Ratios are paired by round and have intervals; nothing is claimed.
    """
    found: list[Sentence] = []
    for family in dict.fromkeys(environment_family(cell.environment) for cell in cells):
        own = [cell for cell in cells if environment_family(cell.environment) == family]
        names = dict.fromkeys(name for cell in own for name in cell.factors)
        for factor in (name for name in names if name.startswith(ENVIRONMENT)):
            first, *others = dict.fromkeys(c.factors[factor] for c in own if factor in c.factors)
            if not _drawn([first, *others]):
                for other in others:
                    found += _sentence(family, own, factor, (first, other), level)
    return tuple(found)


def _drawn(levels: Sequence[Parameter]) -> bool:
    numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in levels)
    return numbers and len(levels) >= FEWEST_LEVELS


def _sentence(
    family: str,
    cells: Sequence[CellResult],
    factor: str,
    levels: tuple[Parameter, Parameter],
    level: float,
) -> list[Sentence]:
    first, other = levels
    pairs = [
        (cell, peer)
        for cell in cells
        for peer in cells
        if cell.points
        and peer.points
        and cell.workload == peer.workload
        and peer.factors.get(factor) == first
        and cell.factors == peer.factors | {factor: other}
    ]
    if not pairs:
        return []
    parts = []
    for cell, peer in pairs:
        ratio = duration_ratio(cell, peer, level=level)
        said = change(ratio.estimate, ratio.interval)
        parts.append(f"{said} on {_rest(cell, factor)} (n = {ratio.n})")
    emulated = any(cell.emulated for pair in pairs for cell in pair)
    marks = f"{_mark(pairs[0][0], factor)} against {_mark(pairs[0][1], factor)}"
    return [
        Sentence(
            environment=family,
            outcome="unknown",
            emulated=emulated,
            groups=tuple(cell.group for cell, _ in pairs),
            text=f"{labelled(family, emulated)}, duration with {marks}: {listing(parts)}.",
        )
    ]


def _mark(cell: CellResult, factor: str) -> str:
    """The factor's level as the file writes it, e.g. `memory=2 GiB`, not as a number of bytes."""
    marks = [part for part in cell.group.split("/") if part.startswith(f"{factor}=")]
    return "/".join(marks).removeprefix(ENVIRONMENT)


def _rest(cell: CellResult, factor: str) -> str:
    """Name of the group without the level of this factor."""
    parts = [part for part in cell.group.split("/") if not part.startswith(f"{factor}=")]
    return "/".join(part.removeprefix(ENVIRONMENT) for part in parts)
