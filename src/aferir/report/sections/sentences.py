"""Section with every comparison of a wide run in words."""

from __future__ import annotations

from aferir.report.blocks import Section, Statement, Statements, Subject
from aferir.report.opening import too_long


def section(subject: Subject) -> Section | None:
    """The section, if the sentences are too long for the first screen."""
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
