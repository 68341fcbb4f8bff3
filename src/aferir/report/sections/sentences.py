"""Every comparison of a wide run in words."""

from __future__ import annotations

from aferir.report.blocks import Section, Statement, Statements, Subject
from aferir.report.opening import too_long


def section(subject: Subject) -> Section | None:
    """Where they are too long for the first screen, which then has a summary of them."""
    evaluation = subject.evaluation
    if not too_long(evaluation):
        return None
    said = tuple(
        Statement(sentence.text, sentence.environment, sentence.emulated)
        for sentence in evaluation.sentences
    )
    return Section(
        title="Every comparison in words",
        blocks=(Statements(said),),
        folded=f"{len(said)} sentences",
        page_only=True,
    )
