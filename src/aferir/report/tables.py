"""Rows and words that the page and the Markdown tables have in common."""

from __future__ import annotations

from aferir.model.record import Warning
from aferir.report.charts.style import labelled
from aferir.report.formatting import NOTHING, number, percent, quantity
from aferir.report.model import (
    AllocationResult,
    CellResult,
    CountedFailure,
    CountedWarning,
    Evaluation,
    MetricSummary,
    Rank,
)
from aferir.statistics.verdict import Rule


def verdict_words(cell: CellResult) -> str:
    """The outcome in two or three words."""
    if cell.baseline:
        return "baseline" if cell.points else "no result"
    if cell.verdict is None:
        return "no baseline to compare with" if cell.points else "no result"
    if cell.emulated:
        return "no verdict"
    return {
        "higher": "slower",
        "lower": "faster",
        "equivalent": f"no difference > {percent(cell.verdict.rule.margin)}",
        "undecided": "undecided",
        "unknown": "too few",
    }[cell.verdict.outcome]


def places(rank: Rank) -> str:
    """`2`, or `1 to 2` where the intervals leave the order open."""
    if rank.best_place == rank.worst_place:
        return str(rank.best_place)
    return f"{rank.best_place} to {rank.worst_place}"


def fastest_in(rank: Rank) -> str:
    """`3 of 8`: groups with the smallest median, of those that several environments shared."""
    return f"{rank.won} of {rank.contested}" if rank.contested else NOTHING


def codes(cell: CellResult) -> str:
    """The codes of its warnings and failures, each once."""
    warned = [counted.warning.code for counted in cell.warnings]
    failed = [f"{c.repetitions} x {c.failure.code}" for c in cell.failures]
    return ", ".join(dict.fromkeys([*warned, *failed])) or NOTHING


def phases(evaluation: Evaluation) -> list[str]:
    """Allocation phases that any environment has."""
    found = [p.metric for a in evaluation.allocations for p in a.phases]
    order = ("placed_s", "copied_s", "booted_s", "ready_s")
    return [phase for phase in order if phase in found]


def phase_mean(allocation: AllocationResult, phase: str) -> str:
    """Mean of one phase for people; a dash where this kind of environment has none."""
    for metric in allocation.phases:
        if metric.metric == phase:
            return quantity(metric.summary.mean, "s")
    return NOTHING


def grouped(evaluation: Evaluation) -> list[tuple[str, list[CellResult]]]:
    """Cells by group, in the order of the plan."""
    return [(g, [c for c in evaluation.cells if c.group == g]) for g in evaluation.groups]


def figures(evaluation: Evaluation) -> list[tuple[CellResult, MetricSummary]]:
    """What programs reported besides their duration."""
    return [(cell, metric) for cell in evaluation.cells for metric in cell.metrics]


def observed(evaluation: Evaluation) -> list[tuple[CellResult, MetricSummary]]:
    """What probes saw."""
    return [(cell, metric) for cell in evaluation.cells for metric in cell.observed]


ROOFLINES = (
    "Medians under the roofs that the same run measured: triad bandwidth and peak multiply-adds. "
    "Percent: of what the roof above leaves attainable; more than 100 where caches serve what the "
    "model has memory serve."
)
ROOFLINE_HEADER = (
    *("environment", "factors", "program", "n", "operations a byte"),
    *("roof", "bound by", "measured", "of the roof"),
)


def rooflines(evaluation: Evaluation) -> list[tuple[str, ...]]:
    """The two roofs of each environment and combination of factors, then its programs."""
    rows: list[tuple[str, ...]] = []
    for one in evaluation.rooflines:
        where = (labelled(one.environment, one.emulated), one.label or NOTHING)
        peak, bandwidth = quantity(one.peak_flops, "flop/s"), quantity(one.bandwidth_bps, "B/s")
        rows.append((*where, "peak", NOTHING, NOTHING, peak, NOTHING, NOTHING, NOTHING))
        rows.append((*where, "triad", NOTHING, NOTHING, bandwidth, NOTHING, NOTHING, NOTHING))
        rows += [
            (
                *(*where, program.workload, str(program.n), number(program.intensity)),
                *(quantity(program.roof_flops, "flop/s"), program.limit),
                *(quantity(program.flops, "flop/s"), percent(program.share)),
            )
            for program in one.programs
        ]
    return rows


def failures(evaluation: Evaluation) -> list[tuple[str, CountedFailure]]:
    """Every way to fail, with the cell or the allocation where it happened."""
    found = [(cell.cell, failure) for cell in evaluation.cells for failure in cell.failures]
    found += [
        (f"allocation of {a.environment}", f) for a in evaluation.allocations for f in a.failures
    ]
    return found


def warnings(evaluation: Evaluation) -> list[tuple[Warning, list[str]]]:
    """Doubts by code, each with the cells and the allocations that it is about."""
    found = [(cell.cell, counted) for cell in evaluation.cells for counted in cell.warnings]
    found += [
        (f"ratio of {cell.cell}", CountedWarning(warning))
        for cell in evaluation.cells
        if cell.ratio is not None
        for warning in cell.ratio.warnings
    ]
    found += [
        (f"allocation of {a.environment}", w) for a in evaluation.allocations for w in a.warnings
    ]
    by_code: dict[str, tuple[Warning, list[str]]] = {}
    for where, counted in found:
        _, places = by_code.setdefault(counted.warning.code, (counted.warning, []))
        times = f" ({counted.repetitions} times)" if (counted.repetitions or 0) > 1 else ""
        places.append(f"{where}{times}")
    return list(by_code.values())


def method(rule: Rule) -> str:
    """How the figures were come by, in a few sentences."""
    return (
        "Ratios are durations over the baseline's: the biweight location of the log-ratios of "
        "each round, which gives spoilt repetitions no weight; below "
        f"8 pairs, their mean. Intervals have a level of {percent(rule.level)}. A difference is "
        f"claimed where p <= {rule.alpha:g}, p after Holm's adjustment over the run <= "
        f"{rule.family_alpha:g}, and the ratio is more than {percent(rule.threshold)} away from "
        f"1; the absence of one beyond {percent(rule.margin)} where two one-sided tests reject "
        f"at {percent(rule.equivalence_alpha)}. Emulated environments are neither."
    )
