"""Section with durations of every cell, ratios, verdicts, and the method of the ratios."""

from __future__ import annotations

from aferir.report.blocks import Field, Named, Paragraph, Section, Subject, Table
from aferir.report.formatting import NOTHING, change, p_value, percent, quantity_interval
from aferir.report.model import CellResult
from aferir.report.sections import words
from aferir.statistics.verdict import Rule

MOST_OPEN = 100
"""Number of rows above which the table is folded."""


def section(subject: Subject) -> Section:
    """Return the section, never None; a cell without results has a row that says so."""
    cells = subject.evaluation.cells
    level = words.level(subject)
    header = (
        *("group", "environment", "n", f"median [{level}]", f"mean [{level}]", "variation"),
        *(f"ratio [{level}]", "p, adjusted", "verdict", "warnings"),
    )
    compared = any(cell.ratio for cell in cells)
    told = (Paragraph(method(subject.evaluation.rule), quiet=True),) if compared else ()
    return Section(
        title="Durations",
        blocks=(Table(header, tuple(map(_row, cells)), grouped=True), *told),
        folded=f"{len(cells)} rows" if len(cells) > MOST_OPEN else "",
    )


def _row(cell: CellResult) -> tuple[Field, ...]:
    duration = cell.duration
    return (
        cell.group,
        Named(cell.environment, cell.emulated),
        str(duration.n),
        quantity_interval(duration.median, duration.median_interval, "s"),
        quantity_interval(duration.mean, duration.mean_interval, "s"),
        NOTHING if duration.variation is None else percent(duration.variation),
        change(cell.ratio.estimate, cell.ratio.interval) if cell.ratio else NOTHING,
        p_value(cell.verdict.p_adjusted) if cell.verdict else NOTHING,
        words.verdict(cell),
        words.codes(cell),
    )


def method(rule: Rule) -> str:
    """Description of the statistical method in a few sentences."""
    return (
        "Ratios are durations over the baseline's: the biweight location of the log-ratios of "
        "each round, which gives spoilt repetitions no weight; below "
        f"8 pairs, their mean. Intervals have a level of {percent(rule.level)}. A difference is "
        f"claimed where p <= {rule.alpha:g}, p after Holm's adjustment over the run <= "
        f"{rule.family_alpha:g}, and the ratio is more than {percent(rule.threshold)} away from "
        f"1; the absence of one beyond {percent(rule.margin)} where two one-sided tests reject "
        f"at {percent(rule.equivalence_alpha)} for typical repetitions and for the mean, and "
        f"stalls in more than {percent(rule.stall_share)} of the repetitions would have been seen; "
        f"different stalls where Fisher's test rejects at {percent(rule.stall_alpha)}. Emulated "
        "environments are neither."
    )
