"""Two runs side by side: whether the same environment became slower on the same work."""

from __future__ import annotations

from aferir.report.formatting import change, percent
from aferir.report.model import CellComparison, CellResult, Evaluation, RunComparison
from aferir.report.sentences import between
from aferir.statistics.multiple import holm
from aferir.statistics.ratio import Ratio, unpaired_ratio
from aferir.statistics.verdict import Rule, Verdict, decide


def compare(first: Evaluation, second: Evaluation, *, rule: Rule | None = None) -> RunComparison:
    """Durations of `second` over those of `first`, cell by cell, as independent samples.

    The runs were not interleaved: what the machine did meanwhile is part of the difference.
    Holm's family is all cells that are not emulated.
    """
    rule = rule or first.rule
    before = {_key(cell): cell for cell in first.cells if cell.points}
    after = {_key(cell): cell for cell in second.cells if cell.points}
    shared = [key for key in before if key in after]
    ratios = {key: _ratio(after[key], before[key], rule) for key in shared}
    family = {
        key: ratio.p_value
        for key, ratio in ratios.items()
        if ratio.p_value is not None and not (before[key].emulated or after[key].emulated)
    }
    adjusted = dict(zip(family, holm(list(family.values())), strict=True))
    return RunComparison(
        first=first.name,
        second=second.name,
        cells=tuple(
            _cell(before[key], after[key], decide(ratios[key], rule, p_adjusted=adjusted.get(key)))
            for key in shared
        ),
        only_first=tuple(cell.cell for key, cell in before.items() if key not in after),
        only_second=tuple(cell.cell for key, cell in after.items() if key not in before),
        rule=rule,
    )


def _key(cell: CellResult) -> tuple[str, str]:
    return cell.group, cell.environment


def _ratio(after: CellResult, before: CellResult, rule: Rule) -> Ratio:
    return unpaired_ratio(
        [point.value for point in after.points],
        [point.value for point in before.points],
        level=rule.level,
    )


def _cell(before: CellResult, after: CellResult, verdict: Verdict) -> CellComparison:
    emulated = before.emulated or after.emulated
    note = " (emulated)" if emulated else ""
    n = f"n = {before.duration.n} and {after.duration.n}"
    return CellComparison(
        group=after.group,
        environment=after.environment,
        emulated=emulated,
        first=before.duration,
        second=after.duration,
        verdict=verdict,
        text=f"{after.environment}{note} on {after.group}: {_words(verdict)} ({n})",
    )


def _words(verdict: Verdict) -> str:
    shown = change(verdict.ratio, verdict.interval)
    if verdict.outcome == "higher":
        return f"slower, {shown}"
    if verdict.outcome == "lower":
        return f"faster, {shown}"
    if verdict.outcome == "equivalent":
        return f"no difference larger than {percent(verdict.rule.margin)}"
    if verdict.outcome == "undecided":
        return f"undecided, {between(verdict)}"
    return "cannot be judged: too few repetitions"
