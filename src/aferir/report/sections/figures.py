"""Section with the metrics that programs reported besides their duration."""

from __future__ import annotations

from aferir.report.blocks import Named, Section, Subject, Table
from aferir.report.formatting import metric_name, quantity_interval
from aferir.report.sections import words
from aferir.report.sections.durations import MOST_OPEN


def section(subject: Subject) -> Section | None:
    """The section, if programs reported other metrics."""
    level = words.level(subject)
    rows = tuple(
        (
            cell.group,
            Named(cell.environment, cell.emulated),
            metric_name(metric.metric),
            str(metric.summary.n),
            quantity_interval(metric.summary.median, metric.summary.median_interval, metric.unit),
            quantity_interval(metric.summary.mean, metric.summary.mean_interval, metric.unit),
        )
        for cell in subject.evaluation.cells
        for metric in cell.metrics
    )
    if not rows:
        return None
    header = ("group", "environment", "figure", "n", f"median [{level}]", f"mean [{level}]")
    return Section(
        title="What the programs reported",
        blocks=(Table(header, rows, grouped=True),),
        folded=f"{len(rows)} figures" if len(rows) > MOST_OPEN else "",
    )
