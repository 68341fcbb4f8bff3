"""The verdict in plain sentences, each with its interval and its n."""

from __future__ import annotations

from collections.abc import Sequence

from aferir.model.plan import environment_family
from aferir.report.formatting import change, listing, percent, quantity_interval
from aferir.report.model import CellResult, Sentence
from aferir.report.ranking import combine
from aferir.statistics.verdict import Outcome, Verdict

_ORDER: tuple[Outcome, ...] = ("higher", "lower", "equivalent", "undecided", "unknown")


def sentences(cells: Sequence[CellResult], baseline: str, *, level: float) -> tuple[Sentence, ...]:
    """One sentence for each environment and outcome, baseline apart; emulated ones last."""
    families = dict.fromkeys(environment_family(c.environment) for c in cells if not c.baseline)
    found: list[Sentence] = []
    for family in families:
        own = [c for c in cells if environment_family(c.environment) == family]
        emulated = [c for c in own if c.emulated]
        if emulated:
            found.append(_emulated(family, emulated, baseline, level))
        real = [c for c in own if not c.emulated]
        for outcome in _ORDER:
            alike = [c for c in real if outcome_of(c) == outcome]
            # "Undecided" leans to one side where the interval leaves out 1.
            for lean in sorted({_lean(c) for c in alike}):
                leaning = [c for c in alike if _lean(c) == lean]
                found.append(_real(family, outcome, leaning, baseline))
    return tuple(sorted(found, key=lambda s: s.emulated))


def outcome_of(cell: CellResult) -> Outcome:
    """The verdict's outcome, or `unknown` where there is no verdict."""
    return cell.verdict.outcome if cell.verdict else "unknown"


def between(verdict: Verdict) -> str:
    """What the interval allows, in words: `between 0.9 % less and 4.1 % more time`."""
    if verdict.interval is None:
        return "anything"
    low, high = verdict.interval.low, verdict.interval.high
    return f"between {_less_or_more(low)} and {_less_or_more(high)} time"


def _less_or_more(ratio: float) -> str:
    if ratio >= 2:
        return f"{quantity_interval(ratio, None, 'times')} as much"
    word = "more" if ratio >= 1 else "less"
    return f"{percent(abs(ratio - 1))} {word}"


def _real(family: str, outcome: Outcome, cells: list[CellResult], baseline: str) -> Sentence:
    build = {
        "higher": _costs,
        "lower": _saves,
        "equivalent": _no_difference,
        "undecided": _undecided,
        "unknown": _unknown,
    }[outcome]
    return Sentence(
        environment=family,
        outcome=outcome,
        emulated=False,
        groups=tuple(cell.group for cell in cells),
        text=f"{family} {build(cells, baseline)}.",
    )


def _emulated(family: str, cells: list[CellResult], baseline: str, level: float) -> Sentence:
    ratios = [c.ratio for c in cells if c.ratio is not None and c.ratio.estimate is not None]
    taken = ""
    if ratios:
        estimate, interval = combine(ratios, level=level)
        n = listing(sorted({str(ratio.n) for ratio in ratios}))
        over = f"{len(ratios)} groups" if len(ratios) > 1 else cells[0].group
        taken = f" Durations against {baseline}: {change(estimate, interval)}"
        taken += f" (over {over}, n = {n} each)."
    return Sentence(
        environment=family,
        outcome="unknown",
        emulated=True,
        groups=tuple(cell.group for cell in cells),
        text=f"{family} is emulated in software.{taken} This says nothing about the speed of "
        "a virtual machine under KVM.",
    )


def _costs(cells: list[CellResult], baseline: str) -> str:
    return f"takes longer than {baseline}: {listing([_figure(cell) for cell in cells])}"


def _saves(cells: list[CellResult], baseline: str) -> str:
    return f"takes less time than {baseline}: {listing([_figure(cell) for cell in cells])}"


def _no_difference(cells: list[CellResult], baseline: str) -> str:
    bounds = [_smallest_bound(cell) for cell in cells]
    named = [f"{cell.group} (n = {_n(cell)})" for cell in cells]
    return (
        f"shows no difference from {baseline} larger than {percent(max(bounds))} "
        f"on {listing(named)}"
    )


def _lean(cell: CellResult) -> str:
    if outcome_of(cell) != "undecided" or cell.verdict is None or cell.verdict.interval is None:
        return ""
    interval = cell.verdict.interval
    if interval.low > 1:
        return "longer"
    return "less time" if interval.high < 1 else ""


def _undecided(cells: list[CellResult], baseline: str) -> str:
    if lean := _lean(cells[0]):
        figures = listing([_figure(cell) for cell in cells])
        return f"probably takes {lean} than {baseline}, but not beyond doubt: {figures}"
    parts = [
        f"{between(cell.verdict)} on {cell.group} (n = {_n(cell)})"
        for cell in cells
        if cell.verdict is not None
    ]
    return f"cannot be told from {baseline}: the samples allow {listing(parts)}"


def _unknown(cells: list[CellResult], baseline: str) -> str:
    parts = []
    for cell in cells:
        if not cell.points:
            parts.append(f"{cell.group} (no result)")
        elif cell.ratio is None:
            parts.append(f"{cell.group} (no result of {baseline} to compare with)")
        else:
            parts.append(f"{cell.group} (n = {_n(cell)} is too few)")
    return f"cannot be judged on {listing(parts)}"


def _figure(cell: CellResult) -> str:
    assert cell.verdict is not None
    text = change(cell.verdict.ratio, cell.verdict.interval)
    return f"{text} on {cell.group} (n = {_n(cell)})"


def _smallest_bound(cell: CellResult) -> float:
    """The margin that was tested, or the tighter one that the shown interval supports anyway."""
    assert cell.verdict is not None
    margin = cell.verdict.rule.margin
    return margin if cell.verdict.bound is None else min(margin, cell.verdict.bound)


def _n(cell: CellResult) -> int:
    return cell.ratio.n if cell.ratio else cell.duration.n
