"""Section on the cost of each environment: ratios to the baseline with intervals."""

from __future__ import annotations

from functools import partial

from aferir.report.blocks import Paragraph, Picture, Section, Subject
from aferir.report.charts.ratios import overall_chart, ratio_chart
from aferir.report.formatting import percent
from aferir.report.model import CellResult, Evaluation
from aferir.report.sections.words import hatched

MOST_ROWS = 40
"""Largest number of rows in one picture; beyond it environments are summarised over all groups."""


def section(subject: Subject) -> Section | None:
    """The section, if there is any ratio."""
    evaluation = subject.evaluation
    cells = with_ratio(evaluation)
    if not cells:
        return None
    wide = len(cells) > MOST_ROWS
    draw = partial(overall_chart, evaluation) if wide else partial(ratio_chart, evaluation, cells)
    return Section(
        title="Cost of each environment",
        blocks=(
            Paragraph(_over_all(evaluation) if wide else caption(evaluation), quiet=True),
            Picture(lambda: (draw(),)),
        ),
    )


def with_ratio(evaluation: Evaluation) -> list[CellResult]:
    """Cells that can be compared with the baseline."""
    return [c for c in evaluation.cells if c.ratio is not None and c.ratio.estimate is not None]


def caption(evaluation: Evaluation) -> str:
    """Explanation of the chart's rows."""
    level = percent(evaluation.rule.level)
    threshold = percent(evaluation.rule.threshold)
    return (
        f"Duration over the baseline's with its {level} interval; to the right of the baseline's "
        f"line is slower. Grey band: differences below {threshold}, which do not matter."
        f"{hatched(evaluation)}"
    )


def _over_all(evaluation: Evaluation) -> str:
    level, threshold = percent(evaluation.rule.level), percent(evaluation.rule.threshold)
    return (
        "Duration over the baseline's: a small mark for each group, a large one for their "
        f"geometric mean with its {level} interval; to the right of the baseline's line is slower. "
        f"Marks at the edge lie beyond it. Grey band: differences below {threshold}."
        f"{hatched(evaluation)}"
    )
