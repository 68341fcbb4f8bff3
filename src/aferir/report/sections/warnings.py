"""Section with warnings about results, each with its subject."""

from __future__ import annotations

from aferir.model.record import Warning
from aferir.report.blocks import Code, Section, Subject, Table
from aferir.report.formatting import NOTHING
from aferir.report.model import CountedWarning, Evaluation

MOST_NAMED = 8
"""Largest number of cells that a warning's row names; the durations table and the JSON name all."""


def section(subject: Subject) -> Section | None:
    """Section with the warnings of the run; None if there are none."""
    rows = tuple(
        (
            Code(warning.code),
            warning.message + (" (and the like)" if len(places) > 1 else ""),
            warning.advice or NOTHING,
            _where(places),
        )
        for warning, places in _warnings(subject.evaluation)
    )
    if not rows:
        return None
    header = ("warning", "message", "what to do", "where")
    return Section(title="Warnings", blocks=(Table(header, rows),))


def _where(places: list[str]) -> str:
    named = "; ".join(places[:MOST_NAMED])
    more = len(places) - MOST_NAMED
    return f"{named}; and {more} more" if more > 0 else named


def _warnings(evaluation: Evaluation) -> list[tuple[Warning, list[str]]]:
    """Warnings by code, each with the cells and the allocations that it concerns."""
    found = [(cell.cell, counted) for cell in evaluation.cells for counted in cell.warnings]
    found += [
        (f"ratio of {cell.cell}", CountedWarning(warning))
        for cell in evaluation.cells
        if cell.ratio is not None
        for warning in (cell.verdict or cell.ratio).warnings
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
