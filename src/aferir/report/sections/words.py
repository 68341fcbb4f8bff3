"""Phrases that several sections share."""

from __future__ import annotations

from aferir.report.blocks import Subject
from aferir.report.formatting import NOTHING, percent
from aferir.report.model import CellResult, Evaluation


def hatched(evaluation: Evaluation) -> str:
    """End of a caption that explains how emulated environments are drawn; empty without any."""
    if not any(cell.emulated for cell in evaluation.cells):
        return ""
    return " Hatched: emulated in software, no measure of a real VM."


def level(subject: Subject) -> str:
    """Level of all intervals, in words such as `95 %`."""
    return percent(subject.evaluation.rule.level)


def verdict(cell: CellResult) -> str:
    """Outcome of a comparison in two or three words."""
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
        "stalls": "stalls differ",
        "alike": f"typical within {percent(cell.verdict.rule.margin)}",
        "undecided": "undecided",
        "unknown": "too few",
    }[cell.verdict.outcome]


def codes(cell: CellResult) -> str:
    """Codes of a cell's warnings and failures, each once."""
    warned = [counted.warning.code for counted in cell.warnings]
    failed = [f"{c.repetitions} x {c.failure.code}" for c in cell.failures]
    return ", ".join(dict.fromkeys([*warned, *failed])) or NOTHING
