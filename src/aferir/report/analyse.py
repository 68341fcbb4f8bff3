"""Turns a plan and its records into an evaluation. Pure: nothing is read or written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec
import numpy as np

from aferir.model.plain import plain_values
from aferir.model.plan import (
    Cell,
    EnvironmentKind,
    Parameter,
    Plan,
    environment_family,
)
from aferir.model.record import ALLOCATION, Failure, Record, Sample, Side, Warning
from aferir.report.curves import curve_families
from aferir.report.explain import explain
from aferir.report.io_costs import study, with_costs
from aferir.report.levels import level_sentences
from aferir.report.model import (
    EMULATED,
    AllocationResult,
    CellResult,
    CountedFailure,
    CountedWarning,
    CpuSplit,
    Evaluation,
    MetricSummary,
    Point,
    Sentence,
)
from aferir.report.pairs import duration_ratio
from aferir.report.ranking import rank
from aferir.report.rooflines import rooflines
from aferir.report.sentences import sentences
from aferir.report.variants import variant_sentences
from aferir.statistics.multiple import holm
from aferir.statistics.summary import summarise
from aferir.statistics.verdict import Rule, decide

DURATION = "duration_s"
PHASES = ("placed_s", "copied_s", "booted_s", "ready_s")

_NOT_STORED: Mapping[str, dict[str, Parameter]] = {}
_CPU_STATE = re.compile(r"cpu_([a-z]+)_percent")
_Doubt = TypeVar("_Doubt", Warning, Failure)


def analyse(
    plan: Plan,
    records: Sequence[Record],
    *,
    rule: Rule | None = None,
    specifications: Mapping[str, dict[str, Parameter]] = _NOT_STORED,
) -> Evaluation:
    """Evaluate all records of a run that belong to the plan; warm-up rounds do not count.

    Ratios are paired by repetition: repetition k of every environment ran in round k, next to each
    other if the order is interleaved, in randomised blocks if it is random. Holm's adjustment is
    over all ratios of the run except those of emulated environments, about which nothing is
    claimed. `specifications` are the plain values of a stored run's environments by name; by
    default they are taken from the plan.
    """
    rule = rule or Rule()
    counted = [record for record in with_costs(plan, records) if not record.warmup]
    emulated = {
        record.environment
        for record in records
        if any(warning.code == EMULATED for warning in record.warnings)
    }
    kinds = {environment.name: environment.kind for environment in plan.environments}
    known = {**_specifications(plan), **specifications}
    by_cell = _by_cell(counted, records)
    cells = tuple(
        _cell(
            cell,
            by_cell.get(cell.id, []),
            kind=kinds[cell.environment],
            specification=known[cell.environment],
            emulated=cell.environment in emulated,
            baseline=environment_family(cell.environment) == plan.baseline,
            rule=rule,
        )
        for cell in _ordered_cells(plan)
    )
    cells = _with_verdicts(_with_ratios(cells, rule), rule)
    explained = explain(plan, counted, rule)
    # The arms of a design are not ranked: users do not choose between them.
    ranking = () if plan.design else rank(cells, plan.baseline, level=rule.level)
    return Evaluation(
        name=plan.name,
        title=plan.title or plan.name,
        baseline=plan.baseline,
        environments=tuple(kinds),
        groups=tuple(dict.fromkeys(cell.group for cell in plan.cells)),
        cells=cells,
        curves=curve_families(cells, counted, _growing(plan), plan.metric),
        io=study(plan, counted),
        rooflines=rooflines(cells),
        allocations=_allocations(counted, kinds, emulated, rule),
        ranking=ranking,
        sentences=() if plan.design else _sentences(plan, cells, rule),
        explanations=explained.explanations,
        not_explained=explained.missing,
        rule=rule,
        repetitions=sum(record.workload != ALLOCATION for record in counted),
    )


def _by_cell(counted: Sequence[Record], records: Sequence[Record]) -> dict[str, list[Record]]:
    """Records of each cell that count; where none does, those of its warm-up that failed."""
    failed_early = [record for record in records if record.warmup and record.failure is not None]
    by_cell = [_grouped(own, lambda record: record.cell) for own in (failed_early, counted)]
    return by_cell[0] | by_cell[1]


def _specifications(plan: Plan) -> dict[str, dict[str, Parameter]]:
    """Plain values of the plan's environments by name."""
    return {one.name: plain_values(msgspec.to_builtins(one)) for one in plan.environments}


def _sentences(plan: Plan, cells: Sequence[CellResult], rule: Rule) -> tuple[Sentence, ...]:
    """Sentences about the plan's metric, then about comparisons; emulated environments come last.

    A plan with the baseline alone has no comparisons; then the metric is the duration by default.
    """
    alone = all(cell.baseline for cell in cells)
    asked = level_sentences(cells, plan.metric) if alone or plan.metric else ()
    varied = variant_sentences(cells, level=rule.level)
    compared = (*varied, *sentences(cells, plan.baseline, level=rule.level))
    return (*asked, *sorted(compared, key=lambda sentence: sentence.emulated))


def _ordered_cells(plan: Plan) -> list[Cell]:
    """Cells group by group in the order of the plan, with environments in the plan's order."""
    groups = {group: i for i, group in enumerate(dict.fromkeys(c.group for c in plan.cells))}
    places = {environment.name: i for i, environment in enumerate(plan.environments)}
    return sorted(plan.cells, key=lambda c: (groups[c.group], places.get(c.environment, -1)))


def _cell(
    cell: Cell,
    records: list[Record],
    *,
    kind: EnvironmentKind,
    specification: dict[str, Parameter],
    emulated: bool,
    baseline: bool,
    rule: Rule,
) -> CellResult:
    good = sorted((r for r in records if r.failure is None), key=lambda r: r.repetition)
    points = tuple(
        Point(record.repetition, sample.value)
        for record in good
        for sample in record.samples
        if sample.metric == DURATION and sample.side == "program"
    )
    duration = summarise([p.value for p in points], level=rule.level, signed=False)
    metrics = _metrics(good, rule)
    raised = [warning for record in records for warning in record.warnings]
    return CellResult(
        cell=cell.id,
        group=cell.group,
        environment=cell.environment,
        kind=kind,
        workload=cell.workload.name,
        program=cell.workload.program,
        parameters=cell.workload.parameters,
        factors=cell.factors,
        specification=specification,
        emulated=emulated,
        baseline=baseline,
        points=points,
        duration=duration,
        metrics=tuple(m for m in metrics if m.side == "program" and m.metric != DURATION),
        observed=tuple(m for m in metrics if m.side != "program"),
        cpu=_cpu_splits(good),
        ratio=None,
        verdict=None,
        failures=_failures(records),
        warnings=(*_warnings(raised), *(CountedWarning(w) for w in duration.warnings)),
    )


def _with_ratios(cells: Iterable[CellResult], rule: Rule) -> tuple[CellResult, ...]:
    cells = tuple(cells)
    baselines = {cell.group: cell for cell in reversed(cells) if cell.baseline and cell.points}
    return tuple(
        msgspec.structs.replace(
            cell, ratio=duration_ratio(cell, baselines[cell.group], level=rule.level)
        )
        if not cell.baseline and cell.points and cell.group in baselines
        else cell
        for cell in cells
    )


def _with_verdicts(cells: tuple[CellResult, ...], rule: Rule) -> tuple[CellResult, ...]:
    family = [
        (cell.cell, cell.ratio.p_value)
        for cell in cells
        if cell.ratio is not None and cell.ratio.p_value is not None and not cell.emulated
    ]
    adjusted = dict(zip((name for name, _ in family), holm([p for _, p in family]), strict=True))
    return tuple(
        msgspec.structs.replace(
            cell, verdict=decide(cell.ratio, rule, p_adjusted=adjusted.get(cell.cell))
        )
        if cell.ratio is not None
        else cell
        for cell in cells
    )


def _allocations(
    records: list[Record], kinds: dict[str, EnvironmentKind], emulated: set[str], rule: Rule
) -> tuple[AllocationResult, ...]:
    of_environment = _grouped(
        (r for r in records if r.workload == ALLOCATION), lambda record: record.environment
    )
    found = tuple(
        _allocation(name, kind, of_environment[name], name in emulated, rule)
        for name, kind in kinds.items()
        if name in of_environment
    )
    # Environments without allocation: the host, and clouds whose programs request instances.
    return found if any(one.phases or one.failures for one in found) else ()


def _allocation(
    name: str, kind: EnvironmentKind, records: list[Record], emulated: bool, rule: Rule
) -> AllocationResult:
    good = [record for record in records if record.failure is None]
    found = {metric.metric: metric for metric in _metrics(good, rule)}
    nothing = summarise([])
    total, release = found.get("total_s"), found.get("release_s")
    raised = [warning for record in records for warning in record.warnings]
    return AllocationResult(
        environment=name,
        kind=kind,
        emulated=emulated,
        phases=tuple(found[phase] for phase in PHASES if phase in found),
        total=total.summary if total else nothing,
        release=release.summary if release else nothing,
        failures=_failures(records),
        warnings=_warnings(raised),
    )


def _metrics(records: list[Record], rule: Rule) -> tuple[MetricSummary, ...]:
    """Summaries by metric, unit and side, in the order of first appearance.

    What a program reports may be negative, as the error of a clock; what is counted or timed around
    it may not.
    """
    found: dict[tuple[str, str, Side], list[Sample]] = {}
    for record in records:
        for sample in record.samples:
            # Samples of CPU states from probes are summarised by `_cpu_splits`.
            if sample.side == "program" or not _CPU_STATE.fullmatch(sample.metric):
                found.setdefault((sample.metric, sample.unit, sample.side), []).append(sample)
    return tuple(
        MetricSummary(
            metric=metric,
            unit=unit,
            side=side,
            summary=summarise(
                [s.value for s in samples],
                level=rule.level,
                signed=side == "program",
            ),
        )
        for (metric, unit, side), samples in found.items()
    )


def _cpu_splits(records: list[Record]) -> tuple[CpuSplit, ...]:
    splits: dict[Side, dict[str, list[float]]] = {}
    for record in records:
        for sample in record.samples:
            if state := _CPU_STATE.fullmatch(sample.metric):
                splits.setdefault(sample.side, {}).setdefault(state[1], []).append(sample.value)
    return tuple(
        CpuSplit(
            side=side,
            n=max(len(values) for values in states.values()),
            states={state: float(np.mean(values)) for state, values in states.items()},
        )
        for side, states in splits.items()
    )


def _growing(plan: Plan) -> frozenset[str]:
    """Workloads whose problem grows with the number of threads or processes (weak scaling)."""
    return frozenset(
        cell.workload.name for cell in plan.cells if cell.workload.parameters.get("grow") is True
    )


def _failures(records: list[Record]) -> tuple[CountedFailure, ...]:
    failures = [record.failure for record in records if record.failure is not None]
    return tuple(CountedFailure(first, count) for first, count in _counted(failures))


def _warnings(raised: list[Warning]) -> tuple[CountedWarning, ...]:
    return tuple(CountedWarning(first, count) for first, count in _counted(raised))


def _counted(doubts: list[_Doubt]) -> list[tuple[_Doubt, int]]:
    """First warning of each code, and the number of warnings with that code."""
    by_code = _grouped(doubts, lambda doubt: doubt.code)
    return [(same[0], len(same)) for same in by_code.values()]


_Value = TypeVar("_Value")


def _grouped(values: Iterable[_Value], key: Callable[[_Value], str]) -> dict[str, list[_Value]]:
    groups: dict[str, list[_Value]] = {}
    for value in values:
        groups.setdefault(key(value), []).append(value)
    return groups
