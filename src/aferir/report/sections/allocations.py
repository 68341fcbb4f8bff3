"""Section on allocation by phase, and on release."""

from __future__ import annotations

from aferir.report.blocks import Block, Field, Named, Paragraph, Picture, Section, Subject, Table
from aferir.report.charts.allocations import allocation_chart
from aferir.report.formatting import NOTHING, metric_name, percent, quantity, quantity_interval
from aferir.report.model import AllocationResult, Evaluation
from aferir.report.sections.published import rows_of
from aferir.report.sections.words import hatched

_PHASES = ("placed_s", "copied_s", "booted_s", "ready_s")


def section(subject: Subject) -> Section | None:
    """The section, if anything was allocated."""
    evaluation = subject.evaluation
    if not evaluation.allocations:
        return None
    level = percent(evaluation.rule.level)
    drawn = [one for one in evaluation.allocations if one.total.n and one.total.mean]
    blocks: list[Block] = []
    if drawn:
        published = rows_of(subject.published, "allocation_latency")
        blocks = [
            Paragraph(
                "Mean time from the request until a command can be run, by phase, and time to "
                f"release. Each environment has a time axis of its own. Line: {level} interval of "
                f"the total.{hatched(evaluation)}",
                quiet=True,
            ),
            Picture(lambda: (allocation_chart(evaluation, drawn, published),)),
        ]
    return Section(
        title="Allocation and release",
        blocks=(
            *blocks,
            _table(evaluation, level),
            Paragraph(
                "Means. Phases after Dutra 2015: placed = TeF, copied = TcI, booted and ready = "
                "TiI; total = TaR, release = TlR.",
                quiet=True,
            ),
        ),
    )


def _table(evaluation: Evaluation, level: str) -> Table:
    found = {p.metric for a in evaluation.allocations for p in a.phases}
    phases = [phase for phase in _PHASES if phase in found]
    header = (
        *("environment", "n", *map(metric_name, phases)),
        *(f"total [{level}]", f"release [{level}]", "failed"),
    )
    return Table(header, tuple(_row(one, phases) for one in evaluation.allocations))


def _row(one: AllocationResult, phases: list[str]) -> tuple[Field, ...]:
    return (
        Named(one.environment, one.emulated),
        str(one.total.n),
        *(_phase_mean(one, phase) for phase in phases),
        quantity_interval(one.total.mean, one.total.mean_interval, "s"),
        quantity_interval(one.release.mean, one.release.mean_interval, "s"),
        str(sum(failure.repetitions for failure in one.failures)),
    )


def _phase_mean(one: AllocationResult, phase: str) -> str:
    """Mean of a phase; a dash if this kind of environment lacks the phase."""
    for metric in one.phases:
        if metric.metric == phase:
            return quantity(metric.summary.mean, "s")
    return NOTHING
