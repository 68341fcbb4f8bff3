"""Section on failed repetitions and their reasons."""

from __future__ import annotations

from aferir.report.blocks import Code, Section, Subject, Table
from aferir.report.formatting import NOTHING
from aferir.report.model import CountedFailure, Evaluation


def section(subject: Subject) -> Section | None:
    """The section, if any repetition failed."""
    rows = tuple(
        (
            where,
            str(counted.repetitions),
            Code(counted.failure.code),
            counted.failure.message,
            counted.failure.remedy or NOTHING,
        )
        for where, counted in _failures(subject.evaluation)
    )
    if not rows:
        return None
    header = ("where", "repetitions", "failure", "message", "what to do")
    return Section(title="Failures", blocks=(Table(header, rows),))


def _failures(evaluation: Evaluation) -> list[tuple[str, CountedFailure]]:
    """Every failure, with the cell or the allocation in which it occurred."""
    found = [(cell.cell, failure) for cell in evaluation.cells for failure in cell.failures]
    found += [
        (f"allocation of {a.environment}", f) for a in evaluation.allocations for f in a.failures
    ]
    return found
