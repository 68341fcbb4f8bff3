"""Section with every ratio of a wide run, one picture for each environment."""

from __future__ import annotations

from aferir.report.blocks import Paragraph, Picture, Section, Subject
from aferir.report.charts.ratios import ratio_chart
from aferir.report.model import Evaluation
from aferir.report.sections.ratios import MOST_ROWS, caption, with_ratio


def section(subject: Subject) -> Section | None:
    """The section, if a single picture would have too many rows."""
    evaluation = subject.evaluation
    cells = with_ratio(evaluation)
    if len(cells) <= MOST_ROWS:
        return None
    return Section(
        title="Every ratio with its interval",
        blocks=(
            Paragraph(caption(evaluation), quiet=True),
            Picture(lambda: _charts(evaluation)),
        ),
        folded=f"{len(cells)} ratios, by environment",
    )


def _charts(evaluation: Evaluation) -> tuple[str, ...]:
    cells = with_ratio(evaluation)
    names = dict.fromkeys(cell.environment for cell in cells)
    return tuple(
        ratio_chart(
            evaluation,
            [cell for cell in cells if cell.environment == name],
            name=f"ratios-{place}",
            title=name,
        )
        for place, name in enumerate(names)
    )
