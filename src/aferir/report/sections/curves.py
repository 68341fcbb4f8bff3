"""Section with metrics along factors, and series that programs reported."""

from __future__ import annotations

from collections.abc import Sequence

from aferir.report.blocks import Paragraph, Picture, Section, Subject
from aferir.report.charts.curves import curve_charts
from aferir.report.model import CurveFamily, Evaluation

MOST_OPEN = 30
"""Number of pictures above which a section is folded."""


def section(subject: Subject) -> Section | None:
    """All curves; of many, those along factors, for which the factors were varied."""
    evaluation = subject.evaluation
    return section_of("Curves and series", evaluation, along_factors(evaluation))


def along_factors(evaluation: Evaluation) -> Sequence[CurveFamily]:
    """Curves along factors, if there are many others; else all. They are named by workloads."""
    groups = {cell.group for cell in evaluation.cells}
    found = [family for family in evaluation.curves if family.title not in groups]
    return found if found and len(evaluation.curves) > MOST_OPEN else evaluation.curves


def section_of(
    title: str, evaluation: Evaluation, families: Sequence[CurveFamily]
) -> Section | None:
    """A section with a picture of each of the families, if there is any."""
    if not families:
        return None
    return Section(
        title=title,
        blocks=(
            Paragraph(
                "Median of the repetitions, band or line from the first to the third quartile; "
                "axes are logarithmic where values are far apart. Of repetitions at different "
                "places, such as moments, the best and the worst by the experiment's metric are "
                "drawn, or the first.",
                quiet=True,
            ),
            Picture(lambda: tuple(curve_charts(evaluation, families))),
        ),
        folded=f"{count} pictures" if (count := len(families)) > MOST_OPEN else "",
    )
