"""First section: what the run shows, in sentences or in a summary."""

from __future__ import annotations

from aferir.model.provenance import Provenance, same_reason
from aferir.model.record import Warning
from aferir.report.blocks import Alerts, Block, Paragraph, Section, Statement, Statements, Subject
from aferir.report.model import Evaluation
from aferir.report.opening import explanation_lines, lines, too_long


def section(subject: Subject) -> Section:
    """Return the section, never None; an empty run is reported as such."""
    warnings = alerts(subject.provenance)
    return Section(
        title="",
        blocks=(_said(subject.evaluation), *((Alerts(warnings),) if warnings else ())),
    )


def alerts(provenance: Provenance | None) -> tuple[Warning, ...]:
    """Warnings about the run as a whole, and what was left out of it."""
    if provenance is None:
        return ()
    left_out = (
        Warning("left out", f"{what}: {finding.message}", finding.remedy)
        for what, finding in same_reason(provenance.left_out)
    )
    return (*provenance.warnings, *left_out)


def _said(evaluation: Evaluation) -> Block:
    if explained := explanation_lines(evaluation):
        return Statements(tuple(map(Statement, explained)))
    if too_long(evaluation):
        return Statements(tuple(map(Statement, lines(evaluation))))
    if evaluation.sentences:
        return Statements(
            tuple(
                Statement(sentence.text, sentence.environment, sentence.emulated)
                for sentence in evaluation.sentences
            )
        )
    why = "the run has results of one environment only"
    if not evaluation.repetitions:
        why = "no repetition has finished"
    return Paragraph(f"There is nothing to compare: {why}.")
