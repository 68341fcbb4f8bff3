"""Section with the metrics of probes on hosts and in instances, without CPU states."""

from __future__ import annotations

from aferir.report.blocks import Named, Section, Subject, Table
from aferir.report.formatting import metric_name, quantity_interval
from aferir.report.sections import words


def section(subject: Subject) -> Section | None:
    """The section, if any probe recorded a metric; always folded."""
    rows = tuple(
        (
            cell.group,
            Named(cell.environment, cell.emulated),
            metric.side,
            metric_name(metric.metric),
            str(metric.summary.n),
            quantity_interval(metric.summary.median, metric.summary.median_interval, metric.unit),
        )
        for cell in subject.evaluation.cells
        for metric in cell.observed
    )
    if not rows:
        return None
    header = ("group", "environment", "side", "metric", "n", f"median [{words.level(subject)}]")
    return Section(
        title="What the probes saw",
        blocks=(Table(header, rows, grouped=True),),
        folded=f"{len(rows)} metrics by group and environment",
        page_only=True,
    )
