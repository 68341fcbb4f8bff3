"""Section with every repetition as a point."""

from __future__ import annotations

from aferir.report.blocks import Paragraph, Picture, Section, Subject
from aferir.report.charts.distributions import MOST, distribution_charts
from aferir.report.sections.words import hatched

MOST_CHARTS = 12
"""Number of groups above which their charts are folded."""


def section(subject: Subject) -> Section | None:
    """The section, if any repetition succeeded."""
    evaluation = subject.evaluation
    groups = len({cell.group for cell in evaluation.cells if cell.points})
    if not groups:
        return None
    return Section(
        title="Every repetition",
        blocks=(
            Paragraph(
                "One mark per repetition, jittered vertically; of more than "
                f"{MOST}, as many that are evenly spaced by rank. Box from the first to the third "
                "quartile, line at the median, whose interval is in brackets. A triangle at the "
                f"right counts repetitions far beyond.{hatched(evaluation)}",
                quiet=True,
            ),
            Picture(lambda: distribution_charts(evaluation)),
        ),
        folded=f"{groups} groups" if groups > MOST_CHARTS else "",
    )
