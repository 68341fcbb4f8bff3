"""Section with metrics along factors, and series that programs reported."""

from __future__ import annotations

from aferir.report.blocks import Paragraph, Picture, Section, Subject
from aferir.report.charts.curves import curve_charts
from aferir.report.model import Evaluation

MOST_OPEN = 30
"""Number of pictures above which the section is folded."""


def section(subject: Subject) -> Section | None:
    """The section, if there is any curve."""
    evaluation = subject.evaluation
    if not evaluation.curves:
        return None
    return Section(
        title="Curves and series",
        blocks=(
            Paragraph(
                "Median of the repetitions, band or line from the first to the third quartile; "
                "axes are logarithmic where values are far apart. Of repetitions at different "
                "places, such as moments, the best and the worst by the experiment's metric are "
                "drawn, or the first.",
                quiet=True,
            ),
            Picture(lambda: _charts(evaluation)),
        ),
        folded=f"{count} pictures" if (count := len(evaluation.curves)) > MOST_OPEN else "",
    )


def _charts(evaluation: Evaluation) -> tuple[str, ...]:
    return tuple(curve_charts(evaluation))
