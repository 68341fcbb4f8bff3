"""Makes the runs of a gate: base beside base, then base beside head; or reads two existing runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median

import msgspec

from aferir import machine
from aferir.cli.running import carry_out
from aferir.errors import AferirError, ProgramError, UndecidedError
from aferir.gate.judge import Seen, Values, Verdict, due, judge, judge_itself, values_of
from aferir.gate.plans import AGAIN, BASE, HEAD, Arm, plan_of
from aferir.model.plan import EnvironmentSpec, Parameter, Plan
from aferir.model.record import Better, Record
from aferir.runner import Watch
from aferir.runner.rounds import Enough
from aferir.runner.stopping import History, Round
from aferir.statistics.ratio import unpaired_ratio
from aferir.statistics.sequential import Limits, look
from aferir.store import Run, open_run

ITSELF_SHARE = 0.2
"""Share of the time in which the base version is compared with itself."""
ITSELF_PAIRS = 30
AUTO, DURATION, CPU, QUEUED = "auto", "duration_s", "cpu_s", "queued_s"
_LEAST_S = 1.0
_FINE = 0.005
"""Share of the base's duration. The duration is judged if an excess over the limit of this size (or
of half the limit, if that is more) can be detected; otherwise CPU time is tried.
"""
_COMPUTING = 0.8
"""Share of its duration that a program must compute, or wait for a processor, for its CPU time to
be judged instead of the duration.
"""


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """One gate: parameters of both revisions, the metric to compare, and the time limit."""

    base: dict[str, Parameter]
    head: dict[str, Parameter]
    metric: str
    limits: Limits
    budget_s: float
    limit_s: float
    most: int
    runs: Path
    where: EnvironmentSpec


class Itself(msgspec.Struct, frozen=True, kw_only=True):
    """Result of the base version compared with itself."""

    metric: str
    """Metric that is compared."""
    seen: Seen
    planned: int
    """Number of pairs that fit in the remaining time."""
    noisy: Seen | None = None
    """Precision of the duration, if it is too noisy and CPU time is judged instead."""
    spent_s: float


def where(line: str, packages: str) -> EnvironmentSpec:
    """Environment that a value of `--in` describes; its image gets the Debian packages `packages`.

    Errors: UsageError.
    """
    from aferir import config, registry
    from aferir.config import quick
    from aferir.config.shorthand import alike, environment_tables

    kinds = registry.kinds()
    document = quick.experiment(
        {"command": "true", "packages": packages},
        alike(environment_tables([line], kinds), kinds),
        rounds=quick.Rounds(),
        warmup=0,
        budget_s=1.0,
        limit_s=1.0,
    )
    host, programs = machine.host_limits(), registry.all_programs()
    plan = config.plan_of(document, host, programs, kinds, source="the command line")
    return plan.environments[0]


def beside_itself(ask: Ask) -> Itself:
    """Run base beside itself. Errors: ProgramError, or UndecidedError without a single pair."""
    arms = {BASE: Arm(parameters=ask.base), AGAIN: Arm(parameters=ask.base)}
    rounds = min(ITSELF_PAIRS, ask.most)
    budget_s = max(_LEAST_S, ITSELF_SHARE * ask.budget_s)
    run = _run(ask, "gate-itself", arms, rounds=rounds, budget_s=budget_s)
    wanted = DURATION if ask.metric == AUTO else ask.metric
    values = values_of(run.records, wanted, (BASE, AGAIN))
    if not values.base:
        raise _no_values(run.records, wanted)
    spent_s = _spent_s(run)
    round_s = spent_s / (len(values.base) + 1)  # with that of the warm-up
    left_s = max(_LEAST_S, ask.budget_s - spent_s)
    planned = max(2, min(ask.most, int(left_s / round_s)))
    found = Itself(
        metric=wanted,
        seen=judge_itself(values, planned, ask.limits),
        planned=planned,
        spent_s=spent_s,
    )
    return found if ask.metric != AUTO else _quieter(run, values, found, ask.limits)


def _quieter(run: Run, durations: Values, found: Itself, limits: Limits) -> Itself:
    """Replace a duration that is too noisy by CPU time, if the program mostly computes."""
    enough = found.seen.visible is None or found.seen.visible <= max(_FINE, limits.at_most / 2)
    times, queued = (values_of(run.records, name, (BASE, AGAIN)) for name in (CPU, QUEUED))
    if enough or not len(times.base) == len(queued.base) == len(durations.base):
        return found
    shares = zip(times.base, queued.base, durations.base, strict=True)
    computing = median((cpu_s + queued_s) / all_s for cpu_s, queued_s, all_s in shares)
    seen = judge_itself(times, found.planned, limits)
    quieter = (seen.visible or math.inf) < (found.seen.visible or math.inf)
    if computing < _COMPUTING or not quieter:
        return found
    return msgspec.structs.replace(found, metric=CPU, seen=seen, noisy=found.seen)


def side_by_side(ask: Ask, itself: Itself) -> Verdict:
    """Run base and head in pairs until a test decides or the time is used up."""
    arms = {BASE: Arm(parameters=ask.base), HEAD: Arm(parameters=ask.head)}
    left_s = max(_LEAST_S, ask.budget_s - itself.spent_s)
    planned, metric = itself.planned, itself.metric

    def judged(records: Iterable[Record]) -> Verdict:
        known = list(records)
        better, unit = _said_of(known, metric)
        values = values_of(known, metric)
        return judge(values, planned, ask.limits, metric=metric, better=better, unit=unit)

    def enough(history: History, _: Round) -> bool:
        records = [one for name in (BASE, HEAD) for one in history.of(f"{name}/program")]
        if due(len(values_of(records, metric).base), planned) is None:
            return False
        return judged(records).answer != "undecided"

    run = _run(ask, "gate", arms, rounds=planned, budget_s=left_s, enough=enough)
    verdict = judged(run.records)
    if not verdict.pairs:
        raise _no_values(run.records, metric)
    return verdict


def of_two_runs(base: Path, head: Path, metric: str, limits: Limits) -> tuple[Verdict, str]:
    """Judge two runs that were made one after another, by a single test of independent samples.

    Errors: ProgramError if they do not have exactly one common cell with the metric.
    """
    metric = DURATION if metric == AUTO else metric
    first, second = (_by_cell(open_run(path), metric) for path in (base, head))
    shared = [cell for cell in first if cell in second]
    if len(shared) != 1:
        raise ProgramError(
            f"the two runs have {len(shared)} cells in common that have `{metric}`, not one",
            remedy="`aferir compare` judges runs of several cells",
        )
    cell = shared[0]
    values = Values(first[cell], second[cell])
    better, unit = _said_of(open_run(head).records, metric)
    worse, good = (values.base, values.head) if better == "higher" else (values.head, values.base)
    ratio = unpaired_ratio(worse, good)
    once = look(ratio, 0, (1.0,), limits)
    n = min(len(values.base), len(values.head))
    whole = judge(Values((), ()), n, limits, metric=metric, better=better, unit=unit)
    return (
        msgspec.structs.replace(
            whole,
            answer=once.answer,
            ratio=ratio,
            look=once,
            looks=1,
            pairs=n,
            base_value=median(values.base),
            head_value=median(values.head),
        ),
        cell,
    )


def _run(
    ask: Ask,
    name: str,
    arms: Mapping[str, Arm],
    *,
    rounds: int,
    budget_s: float,
    enough: Enough | None = None,
) -> Run:
    plan: Plan = plan_of(
        name,
        arms,
        ask.where,
        rounds=rounds,
        warmup=1,
        budget_s=budget_s,
        limit_s=ask.limit_s,
    )
    content = msgspec.json.encode(plan)
    return carry_out(
        plan, content, ask.runs, fresh=True, watch=Watch(), enough=enough, budget_s=budget_s
    )


def _by_cell(run: Run, metric: str) -> dict[str, tuple[float, ...]]:
    found: dict[str, list[float]] = {}
    for record in run.records:
        if record.warmup:
            continue
        for sample in record.samples:
            if sample.metric == metric and sample.side == "program":
                found.setdefault(record.cell, []).append(sample.value)
    return {cell: tuple(values) for cell, values in found.items()}


def _said_of(records: Iterable[Record], metric: str) -> tuple[Better, str]:
    """Return whether more or less of a metric is better, and its unit, as its samples say."""
    for record in records:
        for sample in record.samples:
            if sample.metric == metric:
                return sample.better, sample.unit
    return "", "s"


def _spent_s(run: Run) -> float:
    segments = run.provenance.segments
    return sum(
        ((one.ended_unix_ns or one.started_unix_ns) - one.started_unix_ns) / 1e9 for one in segments
    )


def _no_values(records: Sequence[Record], metric: str) -> AferirError:
    """Return the error of a run without a pair: a failure, too little time, or a missing metric."""
    failures = [record.failure for record in records if record.failure is not None]
    if failures:
        return ProgramError(failures[0].message, remedy=failures[0].remedy)
    measured = any(sample.metric == metric for record in records for sample in record.samples)
    if measured or not records:
        return UndecidedError(
            "undecided: the time ended before a pair of repetitions was measured",
            remedy="raise --time, or try again when the machine is less busy",
        )
    return ProgramError(
        f"no repetition gave `{metric}`", remedy="name a metric of `aferir report`, or a --figure"
    )
