"""Section with every comparison of a wide run: a row for a group, a column for an environment."""

from __future__ import annotations

from aferir.report.blocks import Field, Named, Paragraph, Section, Subject, Table, Tone, Toned
from aferir.report.formatting import NOTHING, change, percent
from aferir.report.model import CellResult
from aferir.report.opening import too_long
from aferir.statistics.verdict import Outcome

_FAILED = "✗"
_SIGNS: dict[Outcome, str] = {"stalls": "!", "equivalent": "=", "alike": "~", "undecided": "?"}
_TONES: dict[Outcome, Tone] = {
    "higher": "slower",
    "lower": "faster",
    "stalls": "slower",
    "equivalent": "alike",
    "alike": "alike",
    "undecided": "open",
    "unknown": "none",
}


def section(subject: Subject) -> Section | None:
    """The section, if sentences about each comparison would fill the first screen."""
    evaluation = subject.evaluation
    if not too_long(evaluation):
        return None
    compared = [cell for cell in evaluation.cells if not cell.baseline]
    emulated = {cell.environment: cell.emulated for cell in compared}
    names = [name for name in evaluation.environments if name in emulated]
    cells = {(cell.group, cell.environment): cell for cell in compared}
    rows = tuple(
        (group, *(_field(cells.get((group, name))) for name in names))
        for group in evaluation.groups
    )
    margin = percent(evaluation.rule.margin)
    return Section(
        title="Every comparison at a glance",
        blocks=(
            Paragraph(
                f"Duration against {evaluation.baseline}. A figure is a difference that is "
                f"claimed (slower with +, faster with -); = no difference larger than {margin}; "
                f"~ none in a typical repetition, too few to exclude stalls; ! stalls differ; "
                f"? undecided; {NOTHING} no result to compare; {_FAILED} repetitions failed.",
                quiet=True,
            ),
            Table(("group", *(Named(name, emulated[name]) for name in names)), rows, dense=True),
        ),
    )


def _field(cell: CellResult | None) -> Field:
    if cell is None:
        return NOTHING
    failed = sum(failure.repetitions for failure in cell.failures)
    details = _details(cell, failed)
    if failed and not cell.points:
        return Toned(_FAILED, "failed", details)
    mark = f" {_FAILED}" if failed else ""
    outcome = cell.verdict.outcome if cell.verdict else "unknown"
    estimate = cell.ratio.estimate if cell.ratio else None
    if cell.emulated or outcome in ("higher", "lower"):
        tone: Tone = "none" if cell.emulated else _TONES.get(outcome, "open")
        return Toned(change(estimate).replace(" times", " x") + mark, tone, details)
    text = _SIGNS.get(outcome, NOTHING)
    return Toned(text + mark, _TONES.get(outcome, "open"), details)


def _details(cell: CellResult, failed: int) -> str:
    said = change(cell.ratio.estimate, cell.ratio.interval) if cell.ratio else "no ratio"
    more = f", {failed} failed" if failed else ""
    return f"{cell.environment} on {cell.group}: {said}, n = {len(cell.points)}{more}"
