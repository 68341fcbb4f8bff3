"""Section with programs under the rooflines that the same run measured."""

from __future__ import annotations

from aferir.report.blocks import Field, Named, Paragraph, Picture, Section, Subject, Table
from aferir.report.charts.roofline import roofline_charts
from aferir.report.formatting import NOTHING, number, percent, quantity
from aferir.report.model import Evaluation

_HEADER = (
    *("environment", "factors", "program", "n", "operations a byte"),
    *("roof", "bound by", "measured", "of the roof"),
)


def section(subject: Subject) -> Section | None:
    """The section, if the run has both limits and a program under them."""
    evaluation = subject.evaluation
    if not evaluation.rooflines:
        return None
    return Section(
        title="Where programs are bound",
        blocks=(
            Paragraph(
                "Medians under the roofs that the same run measured: triad bandwidth and peak "
                "multiply-adds. Percent: of what the roof above leaves attainable. Bound by "
                "caches: faster than memory could serve it, so its roof is the peak.",
                quiet=True,
            ),
            Picture(lambda: roofline_charts(evaluation)),
            Table(_HEADER, rows(evaluation)),
        ),
    )


def rows(evaluation: Evaluation) -> tuple[tuple[Field, ...], ...]:
    """Rows for each environment and combination of factors: the two limits, then the programs."""
    found: list[tuple[Field, ...]] = []
    for one in evaluation.rooflines:
        where = (Named(one.environment, one.emulated), one.label or NOTHING)
        peak, bandwidth = quantity(one.peak_flops, "flop/s"), quantity(one.bandwidth_bps, "B/s")
        found.append((*where, "peak", NOTHING, NOTHING, peak, NOTHING, NOTHING, NOTHING))
        found.append((*where, "triad", NOTHING, NOTHING, bandwidth, NOTHING, NOTHING, NOTHING))
        found += [
            (
                *(*where, program.workload, str(program.n), number(program.intensity)),
                *(quantity(program.roof_flops, "flop/s"), program.limit),
                *(quantity(program.flops, "flop/s"), percent(program.share)),
            )
            for program in one.programs
        ]
    return tuple(found)
