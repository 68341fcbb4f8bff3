"""Section with the series of each group, where they would hide the curves along factors."""

from __future__ import annotations

from aferir.report.blocks import Section, Subject
from aferir.report.sections import curves


def section(subject: Subject) -> Section | None:
    """The curves that `curves` leaves, if there are too many to show beside each other."""
    evaluation = subject.evaluation
    shown = {id(family) for family in curves.along_factors(evaluation)}
    rest = [family for family in evaluation.curves if id(family) not in shown]
    return curves.section_of("Series of each group", evaluation, rest)
