"""Compares runs: whether an environment became slower on the same work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aferir.report.formatting import change, listing, percent
from aferir.report.likeness import unlike
from aferir.report.model import CellComparison, CellResult, Evaluation, NotCompared, RunComparison
from aferir.report.sentences import all_failed, between, failed, stalled
from aferir.statistics.multiple import holm
from aferir.statistics.ratio import Ratio
from aferir.statistics.runs import between_two_runs, ratio_of_runs
from aferir.statistics.verdict import Rule, Verdict, decide

ONE_RUN_EACH = (
    "One run each: this is how these two runs differ. The intervals do not include how much two "
    "runs of the same experiment differ; several runs of each side show it: "
    "aferir compare A1 A2 --against B1 B2."
)
_Side = Mapping[tuple[str, str], tuple[CellResult, ...]]


def compare(
    first: Evaluation | Sequence[Evaluation],
    second: Evaluation | Sequence[Evaluation],
    *,
    rule: Rule | None = None,
    notes: Sequence[str] = (),
) -> RunComparison:
    """Ratios of durations, `second` over `first`, cell by cell, as independent samples.

    If a side has several runs, each counts once. Cells with other programs, parameters or kinds are
    not compared. The runs were not interleaved, so changes of the machine between them are part of
    the difference. Holm's adjustment is over all cells that are not emulated.
    """
    firsts, seconds = _several(first), _several(second)
    rule = rule or firsts[0].rule
    before, after = _cells(firsts), _cells(seconds)
    shared = [key for key in before if key in after]
    reasons = {key: _reasons((*before[key], *after[key])) for key in shared}
    alike = [key for key in shared if not reasons[key]]
    one_each = len(firsts) == len(seconds) == 1
    ratios = {key: _ratio(before[key], after[key], rule, one_each=one_each) for key in alike}
    family = {
        key: ratio.p_value
        for key, ratio in ratios.items()
        if ratio.p_value is not None and not _emulated(before[key], after[key])
    }
    adjusted = dict(zip(family, holm(list(family.values())), strict=True))
    return RunComparison(
        first=listing([run.name for run in firsts]),
        second=listing([run.name for run in seconds]),
        notes=(
            *((ONE_RUN_EACH,) if one_each and alike else ()),
            *notes,
            *_only_failed(firsts, "first"),
            *_only_failed(seconds, "second"),
        ),
        cells=tuple(
            _cell(
                before[key],
                after[key],
                ratios[key],
                decide(ratios[key], rule, p_adjusted=adjusted.get(key)),
            )
            for key in alike
        ),
        not_compared=tuple(
            NotCompared(group=key[0], environment=key[1], differs=reasons[key])
            for key in shared
            if reasons[key]
        ),
        only_first=tuple(cells[0].cell for key, cells in before.items() if key not in after),
        only_second=tuple(cells[0].cell for key, cells in after.items() if key not in before),
        rule=rule,
    )


def _several(runs: Evaluation | Sequence[Evaluation]) -> Sequence[Evaluation]:
    return (runs,) if isinstance(runs, Evaluation) else runs


def _cells(runs: Sequence[Evaluation]) -> _Side:
    """Group cells by group and environment: one cell of each run that has results for it."""
    found: dict[tuple[str, str], tuple[CellResult, ...]] = {}
    for run in runs:
        for cell in run.cells:
            if cell.points:
                key = cell.group, cell.environment
                found[key] = (*found.get(key, ()), cell)
    return found


def _only_failed(runs: Sequence[Evaluation], name: str) -> list[str]:
    """Sentences about cells for which one side has only failures."""
    counts: dict[str, int] = {}
    for cell in (cell for run in runs for cell in run.cells):
        counts[cell.cell] = counts.get(cell.cell, 0) + failed(cell)
    good = {cell.cell for run in runs for cell in run.cells if cell.points}
    return [
        f"{cell}: {all_failed(count)} in the {name}."
        for cell, count in counts.items()
        if count and cell not in good
    ]


def _reasons(cells: Sequence[CellResult]) -> tuple[str, ...]:
    """Reasons why the cells of the two sides are not the same work."""
    found = [reason for other in cells[1:] for reason in unlike(cells[0], other)]
    return tuple(dict.fromkeys(found))


def _emulated(*sides: Sequence[CellResult]) -> bool:
    return any(cell.emulated for side in sides for cell in side)


def _ratio(
    before: Sequence[CellResult], after: Sequence[CellResult], rule: Rule, *, one_each: bool
) -> Ratio:
    values, baseline = (
        [[p.value for p in cell.points] for cell in side] for side in (after, before)
    )
    ratio = ratio_of_runs(values, baseline, level=rule.level)
    return between_two_runs(ratio) if one_each else ratio


def _cell(
    before: Sequence[CellResult], after: Sequence[CellResult], ratio: Ratio, verdict: Verdict
) -> CellComparison:
    emulated = _emulated(before, after)
    note = " (emulated)" if emulated else ""
    notes = [_counts(before, after), *_failures(before, after), *_stalls(ratio)]
    last = after[-1]
    return CellComparison(
        group=last.group,
        environment=last.environment,
        emulated=emulated,
        first=before[0].duration,
        second=last.duration,
        verdict=verdict,
        text=f"{last.environment}{note} on {last.group}: {_words(verdict)} ({'; '.join(notes)})",
    )


def _counts(before: Sequence[CellResult], after: Sequence[CellResult]) -> str:
    if len(before) == len(after) == 1:
        return f"n = {before[0].duration.n} and {after[0].duration.n}"
    return f"{len(before)} and {len(after)} runs"


def _failures(before: Sequence[CellResult], after: Sequence[CellResult]) -> list[str]:
    parts = []
    for side, name in ((before, "first"), (after, "second")):
        count = sum(failed(cell) for cell in side)
        if count:
            of = count + sum(len(cell.points) for cell in side)
            parts.append(f"{count} of {of} failed in the {name}")
    return parts


def _stalls(ratio: Ratio) -> list[str]:
    costs = ratio.costs
    if costs is None or not (costs.stalls.stalled or costs.stalls_baseline.stalled):
        return []
    return [
        f"{stalled(costs.stalls)}, before {stalled(costs.stalls_baseline)}",
        f"mean {change(costs.mean, costs.mean_interval)}",
    ]


def _words(verdict: Verdict) -> str:
    shown = change(verdict.ratio, verdict.interval)
    within = percent(verdict.rule.margin)
    return {
        "higher": f"slower, {shown}",
        "lower": f"faster, {shown}",
        "stalls": f"stalls differ; a typical repetition takes {between(verdict)}",
        "equivalent": f"no difference larger than {within}",
        "alike": f"a typical repetition takes as long, to within {within}",
        "undecided": f"undecided, {between(verdict)}",
        "unknown": "cannot be judged: too few repetitions",
    }[verdict.outcome]
