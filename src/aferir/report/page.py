"""All sections of the report in their order; a new section is a file and a line here."""

from __future__ import annotations

from pathlib import Path

from aferir.model.provenance import Provenance
from aferir.report.blocks import Maker, Section, Subject
from aferir.report.model import Evaluation
from aferir.report.published.compare import beside, load
from aferir.report.published.model import TableBeside
from aferir.report.sections import (
    allocations,
    causes,
    cpu,
    crossings,
    curves,
    durations,
    every_ratio,
    failures,
    figures,
    io,
    matrix,
    observed,
    over_hosts,
    provenance,
    published,
    ranking,
    ratios,
    repetitions,
    rooflines,
    sentences,
    series,
    verdict,
    warnings,
)

PAGE: tuple[Maker, ...] = (
    verdict.section,
    causes.section,
    ranking.section,
    ratios.section,
    over_hosts.section,
    matrix.section,
    failures.section,
    io.section,
    rooflines.section,
    curves.section,
    series.section,
    crossings.section,
    repetitions.section,
    durations.section,
    figures.section,
    allocations.section,
    cpu.section,
    published.section,
    warnings.section,
    sentences.section,
    every_ratio.section,
    observed.section,
    provenance.section,
)
"""Sections in order: answers, pictures, figures, doubts and details."""


def sections(
    evaluation: Evaluation,
    *,
    provenance: Provenance | None = None,
    reference: Path | None = None,
) -> tuple[Section, ...]:
    """Sections that have content for this run.

    `reference` is the folder of published results.
    """
    subject = Subject(
        evaluation=evaluation,
        provenance=provenance,
        published=published_beside(evaluation, provenance, reference),
    )
    return tuple(section for make in PAGE if (section := make(subject)) is not None)


def published_beside(
    evaluation: Evaluation, provenance: Provenance | None, reference: Path | None
) -> tuple[TableBeside, ...]:
    """Published tables in the folder `reference` with a figure that the run measured, too.

    The processors by which rows of clusters are matched are this machine's, and are not known where
    programs ran on other hosts.
    """
    facts = provenance.facts if provenance else {}
    here = {} if "hosts" in facts else facts.get("machine", {})
    return beside(load(reference), evaluation, processors=here.get("cpus"))
