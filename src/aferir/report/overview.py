"""Summary of a run: outcomes counted, the largest costs, stalls, failures."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from aferir.model.plan import environment_family
from aferir.report.model import CellResult, Evaluation
from aferir.report.sentences import outcome_of
from aferir.statistics.intervals import Interval
from aferir.statistics.stalls import fisher
from aferir.statistics.verdict import Outcome

WORST = 3
"""Largest number of items that a line lists."""


class Costly(msgspec.Struct, frozen=True, kw_only=True):
    """A comparison in which an environment has a significant cost."""

    environment: str
    group: str
    ratio: float
    interval: Interval | None
    n: int


class Failed(msgspec.Struct, frozen=True, kw_only=True):
    """An environment with failed repetitions."""

    environment: str
    groups: tuple[str, ...]
    """Groups with at least one failure."""
    without_result: int
    """Number of groups in which no repetition succeeded."""
    repetitions: int
    of: int
    """Number of repetitions in the groups with a failure, successful repetitions included."""
    codes: tuple[str, ...]


class Stalling(msgspec.Struct, frozen=True, kw_only=True):
    """An environment that stalls more often than the baseline, over all groups together.

    A single group often has too few repetitions to show it.
    """

    environment: str
    stalled: int
    of: int
    """Number of repetitions in all compared groups."""
    baseline_stalled: int
    baseline_of: int
    p_value: float
    """P value of the hypothesis that both stall equally often (Fisher), before Bonferroni's
    adjustment, after which it must be significant for a claim.
    """


class EnvironmentOverview(msgspec.Struct, frozen=True, kw_only=True):
    """Outcomes of one environment's comparisons; the variants of a family count together."""

    environment: str
    emulated: bool
    groups: int
    """Number of groups in which the plan compares the environment."""
    outcomes: dict[Outcome, int]
    """Comparisons by outcome; empty for an emulated environment, about which nothing is claimed."""
    failed: int
    """Number of failed repetitions."""


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """Summary of a run: outcomes, largest costs, stalls and failures."""

    baseline: str
    groups: int
    comparisons: int
    """Number of comparisons, including those without enough results, but not emulated ones."""
    outcomes: dict[Outcome, int]
    margin: float
    """Largest difference that counts as no difference."""
    environments: tuple[EnvironmentOverview, ...]
    worst: tuple[Costly, ...]
    """Largest claimed ratios in descending order; at most `WORST`."""
    stalling: tuple[Stalling, ...]
    """Stalling environments, the largest share first."""
    failed: tuple[Failed, ...]
    """Failing environments, most failures first."""


def overview(evaluation: Evaluation) -> Overview:
    """Summarise the results of a run's cells."""
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
        stalling=_stalling(real, evaluation.rule.family_alpha),
        failed=_failed(evaluation.cells),
    )


def _outcomes(cells: Sequence[CellResult]) -> dict[Outcome, int]:
    found: dict[Outcome, int] = {}
    for cell in cells:
        found[outcome_of(cell)] = found.get(outcome_of(cell), 0) + 1
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
        if cell.ratio is not None
        and cell.ratio.estimate is not None
        and outcome_of(cell) == "higher"
    ]
    return tuple(sorted(found, key=lambda one: -one.ratio)[:WORST])


def _stalling(cells: Sequence[CellResult], family_alpha: float) -> tuple[Stalling, ...]:
    found = []
    families = dict.fromkeys(environment_family(cell.environment) for cell in cells)
    for family in families:
        seen = [
            cell.ratio.costs
            for cell in cells
            if environment_family(cell.environment) == family and cell.ratio and cell.ratio.costs
        ]
        stalled, of = sum(one.stalls.stalled for one in seen), sum(one.stalls.n for one in seen)
        other = sum(one.stalls_baseline.stalled for one in seen)
        other_of = sum(one.stalls_baseline.n for one in seen)
        if stalled * other_of <= other * of:
            continue
        p_value = fisher(stalled, of, other, other_of)
        if p_value * len(families) <= family_alpha:
            found.append(
                Stalling(
                    environment=family,
                    stalled=stalled,
                    of=of,
                    baseline_stalled=other,
                    baseline_of=other_of,
                    p_value=p_value,
                )
            )
    return tuple(sorted(found, key=lambda one: -one.stalled / one.of))


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
