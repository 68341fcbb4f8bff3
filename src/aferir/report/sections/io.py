"""Section on costs of I/O: CPU time, cycles by layer, energy, growth with cores."""

from __future__ import annotations

from aferir.report import io_tables
from aferir.report.blocks import Block, Heading, Paragraph, Picture, Section, Subject, Table
from aferir.report.charts.io_costs import io_charts
from aferir.report.sections.words import hatched


def section(subject: Subject) -> Section | None:
    """The section, if the plan has a server and something was accounted."""
    study = subject.evaluation.io
    if study is None:
        return None
    blocks: list[Block] = []
    for chart in io_charts(study):
        blocks += [
            Heading(chart.title),
            Paragraph(chart.caption + hatched(subject.evaluation), quiet=True),
            Picture(chart.draw),
        ]
    blocks += [
        Heading("Figures"),
        Table(io_tables.cost_header(study), tuple(io_tables.costs(study))),
        Paragraph(io_tables.method(study), quiet=True),
    ]
    means = io_tables.averages(study, subject.evaluation.baseline)
    if means:
        blocks += [
            Heading("Averages over workloads"),
            Table(io_tables.average_header(study), tuple(means)),
            Paragraph(io_tables.AVERAGE_METHOD, quiet=True),
        ]
    rows = io_tables.projections(study)
    if rows:
        blocks += [
            Heading("Growth with cores"),
            Table(io_tables.PROJECTION_HEADER, tuple(rows)),
            Paragraph(io_tables.PROJECTION_METHOD, quiet=True),
        ]
    return Section(title="What I/O costs", blocks=tuple(blocks))
