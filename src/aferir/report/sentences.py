"""Writes the verdicts as sentences, each with its interval and its n."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aferir.model.plan import environment_family
from aferir.report.formatting import change, listing, p_value, percent, quantity_interval
from aferir.report.model import CellResult, Sentence
from aferir.report.ranking import combine
from aferir.statistics.ratio import Ratio
from aferir.statistics.stalls import Stalls
from aferir.statistics.verdict import Outcome, Verdict

_ORDER: tuple[Outcome, ...] = (
    "stalls",
    "higher",
    "lower",
    "equivalent",
    "alike",
    "undecided",
    "unknown",
)
FAILING = 0.1
"""Share of failed repetitions above which a sentence begins with the failures."""
LEAST_BOUND = 0.001
"""Smallest difference that a sentence excludes: no measurement here is more precise."""


def sentences(cells: Sequence[CellResult], baseline: str, *, level: float) -> tuple[Sentence, ...]:
    """One sentence for each environment and outcome; the baseline has none.

    Stalls come first and emulated environments last.
    """
    families = dict.fromkeys(environment_family(c.environment) for c in cells if not c.baseline)
    peers = {cell.group: cell for cell in reversed(cells) if cell.baseline}
    found: list[Sentence] = []
    for family in families:
        own = [c for c in cells if environment_family(c.environment) == family]
        emulated = [c for c in own if c.emulated]
        if emulated:
            found.append(_emulated(family, emulated, baseline, level))
        real = [c for c in own if not c.emulated]
        for outcome in _ORDER:
            alike = [c for c in real if outcome_of(c) == outcome]
            for failing in (True, False):
                those = [c for c in alike if (failed_share(c) > FAILING) is failing]
                if those:
                    found.append(_real(family, outcome, those, baseline, peers))
    return tuple(sorted(found, key=lambda s: (s.emulated, s.outcome != "stalls")))


def outcome_of(cell: CellResult) -> Outcome:
    """The verdict's outcome, or `unknown` if there is no verdict."""
    return cell.verdict.outcome if cell.verdict else "unknown"


def between(verdict: Verdict) -> str:
    """Range that the interval permits: `between 0.9 % less and 4.1 % more time`."""
    if verdict.interval is None:
        return "anything"
    low, high = verdict.interval.low, verdict.interval.high
    return f"between {_less_or_more(low)} and {_less_or_more(high)} time"


def _less_or_more(ratio: float) -> str:
    if ratio >= 2:
        return f"{quantity_interval(ratio, None, 'times')} as much"
    word = "more" if ratio >= 1 else "less"
    return f"{percent(abs(ratio - 1))} {word}"


def failed(cell: CellResult) -> int:
    """Number of failed repetitions of a cell."""
    return sum(counted.repetitions for counted in cell.failures)


def failed_share(cell: CellResult) -> float:
    """Share of a cell's repetitions that failed; 0 if it has none."""
    return failed(cell) / max(failed(cell) + len(cell.points), 1)


def _real(
    family: str,
    outcome: Outcome,
    cells: list[CellResult],
    baseline: str,
    peers: Mapping[str, CellResult],
) -> Sentence:
    named = {cell.group: _place(cell, peers.get(cell.group), baseline) for cell in cells}
    build = {
        "stalls": _stalls,
        "higher": _costs,
        "lower": _saves,
        "equivalent": _no_difference,
        "alike": _alike,
        "undecided": _undecided,
    }
    if outcome in build:
        said = f"{_failing(cells)}{build[outcome](cells, baseline, named)}"
    else:
        said = _unknown(cells, baseline)
    return Sentence(
        environment=family,
        outcome=outcome,
        emulated=False,
        groups=tuple(cell.group for cell in cells),
        text=f"{family} {said}.",
    )


def _failing(cells: list[CellResult]) -> str:
    """Beginning of a sentence about cells in which many repetitions failed, but not all."""
    parts = [
        f"{failed(cell)} of {failed(cell) + len(cell.points)} repetitions of {cell.group}"
        for cell in cells
        if failed_share(cell) > FAILING and cell.points
    ]
    return f"failed in {listing(parts)}; where it did not, it " if parts else ""


def _place(cell: CellResult, peer: CellResult | None, baseline: str) -> str:
    """`cg (n = 12; 2 of 12 stalled, ...)`: the group with all qualifications of its figure."""
    notes = [] if cell.ratio is None else [f"n = {cell.ratio.n}"]
    if failures := failed(cell):
        notes.append(f"{failures} of {failures + len(cell.points)} failed")
    if peer is not None and (failures := failed(peer)):
        notes.append(f"{baseline} failed {failures} of {failures + len(peer.points)} times")
    if cell.ratio is not None and (worth := _worth(cell.ratio)):
        notes.append(worth)
    if cell.verdict is not None and cell.verdict.outcome != "stalls":
        notes += _stall_notes(cell, baseline)
        if any(warning.code == "exaggerated" for warning in cell.verdict.warnings):
            notes.append("likely smaller")
    return f"{cell.group} ({'; '.join(notes)})" if notes else cell.group


def _worth(ratio: Ratio) -> str:
    """`worth 4 independent ones`, if neighbouring repetitions are correlated."""
    if ratio.worth is None:
        return ""
    return f"worth {ratio.worth:.0f} independent {'one' if round(ratio.worth) == 1 else 'ones'}"


def _stall_notes(cell: CellResult, baseline: str) -> list[str]:
    costs = cell.ratio.costs if cell.ratio else None
    if costs is None or not (costs.stalls.stalled or costs.stalls_baseline.stalled):
        return []
    both = f"{stalled(costs.stalls)}, {baseline} {stalled(costs.stalls_baseline)}"
    return [f"{both}, mean {change(costs.mean, costs.mean_interval)}"]


def stalled(stalls: Stalls) -> str:
    """`6 of 20 stalled for 3.0 times [2.9, 3.1] as long`, or `0 of 20 stalled`."""
    text = f"{stalls.stalled} of {stalls.n} stalled"
    return text if stalls.factor is None else f"{text} for {_times_as_long(stalls)}"


def _times_as_long(stalls: Stalls) -> str:
    return f"{quantity_interval(stalls.factor, stalls.factor_interval, 'times')} as long"


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


def _costs(cells: list[CellResult], baseline: str, named: Mapping[str, str]) -> str:
    return f"takes longer than {baseline}: {listing([_figure(cell, named) for cell in cells])}"


def _saves(cells: list[CellResult], baseline: str, named: Mapping[str, str]) -> str:
    return f"takes less time than {baseline}: {listing([_figure(cell, named) for cell in cells])}"


def _stalls(cells: list[CellResult], baseline: str, named: Mapping[str, str]) -> str:
    parts = []
    for cell in cells:
        assert cell.ratio is not None
        assert cell.ratio.costs is not None
        assert cell.verdict is not None
        costs = cell.ratio.costs
        parts.append(
            f"on {named[cell.group]} {_stalled_how(costs.stalls)} and {baseline} "
            f"{_stalled_how(costs.stalls_baseline)}, which makes the mean "
            f"{change(costs.mean, costs.mean_interval)}; a typical repetition takes "
            f"{between(cell.verdict)}"
        )
    more = [c.ratio.costs for c in cells if c.ratio and c.ratio.costs]
    often = all(
        c.stalls.stalled * c.stalls_baseline.n > c.stalls_baseline.stalled * c.stalls.n
        for c in more
    )
    head = f"stalls more often than {baseline}" if often else f"and {baseline} do not stall alike"
    return f"{head}: {'; '.join(parts)}"


def _stalled_how(stalls: Stalls) -> str:
    """`stalled in 6 of 20 repetitions [12 %, 54 %], 3.0 times [2.9, 3.1] as long as typical`."""
    if stalls.factor is None:
        return f"in none of {stalls.n}"
    low, high = (percent(end) for end in (stalls.share.low, stalls.share.high))
    return (
        f"stalled in {stalls.stalled} of {stalls.n} repetitions [{low}, {high}], "
        f"{_times_as_long(stalls)} as a typical one"
    )


def _no_difference(cells: list[CellResult], baseline: str, named: Mapping[str, str]) -> str:
    bounds = [_smallest_bound(cell) for cell in cells]
    return (
        f"shows no difference from {baseline} larger than {percent(max(bounds))} "
        f"on {listing([named[cell.group] for cell in cells])}"
    )


def _alike(cells: list[CellResult], baseline: str, named: Mapping[str, str]) -> str:
    """Sentence about cells that are alike in typical repetitions, and why no more is claimed."""
    bounds = [_smallest_bound(cell) for cell in cells]
    text = (
        f"takes as long as {baseline} to within {percent(max(bounds))} in a typical repetition "
        f"of {listing([named[cell.group] for cell in cells])}"
    )
    unseen = [
        cell.ratio.costs.stalls.most
        for cell in cells
        if cell.ratio and cell.ratio.costs and not cell.ratio.costs.stalls.stalled
    ]
    if not unseen:
        return text
    return f"{text}; stalls in up to {percent(max(unseen))} of them would not have been seen"


def _undecided(cells: list[CellResult], baseline: str, named: Mapping[str, str]) -> str:
    parts = [
        f"{between(cell.verdict)} on {named[cell.group]}{_insignificant(cell.verdict)}"
        for cell in cells
        if cell.verdict is not None
    ]
    return f"cannot be told from {baseline}: the samples allow {listing(parts)}"


def _insignificant(verdict: Verdict) -> str:
    """Why an interval that leaves out 1 is no verdict: some do by chance among many comparisons."""
    interval = verdict.interval
    if verdict.significant or interval is None or interval.low <= 1 <= interval.high:
        return ""
    p, adjusted = p_value(verdict.p_value), p_value(verdict.p_adjusted)
    return f", which is not significant (p = {p}, {adjusted} adjusted)"


def _unknown(cells: list[CellResult], baseline: str) -> str:
    parts = []
    for cell in cells:
        if not cell.points:
            why = f": {all_failed(failed(cell))}" if failed(cell) else ""
            parts.append(f"{cell.group} (no result{why})")
        elif cell.ratio is None:
            parts.append(f"{cell.group} (no result of {baseline} to compare with)")
        else:
            notes = f"; {failed(cell)} failed" if failed(cell) else ""
            worth = _worth(cell.ratio)
            n = f"n = {cell.ratio.n}, {worth}," if worth else f"n = {cell.ratio.n}"
            parts.append(f"{cell.group} ({n} is too few for an interval{notes})")
    return f"cannot be judged on {listing(parts)}"


def all_failed(failures: int) -> str:
    """Clause about a cell whose repetitions all failed."""
    return "its repetition failed" if failures == 1 else f"all {failures} repetitions failed"


def _figure(cell: CellResult, named: Mapping[str, str]) -> str:
    assert cell.verdict is not None
    return f"{change(cell.verdict.ratio, cell.verdict.interval)} on {named[cell.group]}"


def _smallest_bound(cell: CellResult) -> float:
    """Margin within which the cell is alike: the tested one, or less if the interval allows."""
    assert cell.verdict is not None
    margin = cell.verdict.rule.margin
    bound = margin if cell.verdict.bound is None else min(margin, cell.verdict.bound)
    return max(bound, LEAST_BOUND)
