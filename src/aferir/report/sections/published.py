"""Section with published results beside the run's own, and their differences."""

from __future__ import annotations

from collections.abc import Sequence

from aferir.report.blocks import Block, Paragraph, Section, Subject, Table
from aferir.report.formatting import quantity
from aferir.report.published import (
    ALLOCATIONS_DIFFER,
    CLOCKS_DIFFER,
    ELASTICITY_DIFFERS,
    OVERHEADS_DIFFER,
    PublishedFigure,
    PublishedOverhead,
    beside,
)


def section(subject: Subject) -> Section | None:
    """The section, if the run has a figure that was published too."""
    evaluation, published = subject.evaluation, subject.published
    blocks: list[Block] = []
    for differs, known in (
        (CLOCKS_DIFFER, published.clocks),
        (ELASTICITY_DIFFERS, published.elasticity),
    ):
        blocks += _figures(differs, "published", beside(known, evaluation))
    if published.allocations and evaluation.allocations:
        rows = tuple(
            (
                entry.label,
                f"{quantity(entry.mean_s, 's')} ± {quantity(entry.sd_s, 's')}",
                str(entry.runs),
                entry.source,
            )
            for entry in published.allocations
        )
        header = ("cloud manager, hypervisor", "mean ± sd", "n", "source")
        blocks += [Paragraph(ALLOCATIONS_DIFFER), Table(header, rows)]
    if len(evaluation.ranking) > 1:
        column = "figure (no interval published)"
        blocks += _figures(OVERHEADS_DIFFER, column, published.overheads)
    return Section(title="Published results", blocks=tuple(blocks)) if blocks else None


def _figures(
    differs: str, column: str, known: Sequence[PublishedFigure | PublishedOverhead]
) -> list[Block]:
    if not known:
        return []
    rows = tuple((entry.what, entry.figure, entry.source) for entry in known)
    return [Paragraph(differs), Table(("what", column, "source"), rows)]
