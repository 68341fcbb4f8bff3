"""Section with published results beside the run's own, and a verdict for each row."""

from __future__ import annotations

from aferir.report.blocks import Block, Field, Heading, Named, Paragraph, Section, Subject, Table
from aferir.report.formatting import NOTHING, change, number, quantity, quantity_interval
from aferir.report.published.model import Beside, Compared, TableBeside
from aferir.statistics.intervals import Interval

MOST_OPEN = 12
"""Number of rows from which on the section is folded."""
_HEADER = ("published", "there", "environment", "group", "here", "n", "verdict")


def section(subject: Subject) -> Section | None:
    """The section, if the run has a figure that was published too."""
    shown = subject.published
    if not shown:
        return None
    blocks: list[Block] = [Paragraph(_METHOD, quiet=True)]
    for table in shown:
        rows = tuple(line for row in table.rows for line in _lines(row))
        blocks += [
            Heading(table.title),
            Paragraph(f"{table.differs} {_sources(table)}"),
            Table(_HEADER, rows),
        ]
    verdicts = [row.verdict for table in shown for row in table.rows]
    folded = f"{verdicts.count('comparable')} of {len(verdicts)} published figures are comparable"
    return Section(
        title="Published results",
        blocks=tuple(blocks),
        folded=folded if len(verdicts) > MOST_OPEN else "",
    )


_METHOD = (
    "Published figures of which this run has a counterpart. A figure is comparable where all "
    "published conditions that a run can show are those of the run; processors, networks and "
    "programs are others all the same, as the line above each table says. A difference is ours "
    "against theirs, and its interval has the uncertainty of both where both are known. ± is a "
    "standard deviation. Figures at a place of a curve are medians, all others means."
)


def _lines(row: Beside) -> list[tuple[Field, ...]]:
    """Lines of a row: one for each figure of the run, or one with the reason why there is none."""
    if not row.ours:
        return [(row.what, there(row), *(NOTHING,) * 4, said(row, None))]
    return [
        (
            row.what,
            there(row),
            Named(one.environment, one.emulated) if one.environment else NOTHING,
            one.group,
            quantity_interval(one.value, one.interval, row.unit),
            str(one.n) if one.n else NOTHING,
            said(row, one),
        )
        for one in row.ours
    ]


def _sources(table: TableBeside) -> str:
    """Sources of the rows, each of them once."""
    return f"Source: {'; '.join(dict.fromkeys(row.source for row in table.rows))}."


def there(row: Beside) -> str:
    """The published figure with its spread."""
    text = quantity(row.value, row.unit)
    if row.sd is not None:
        text += f" ± {quantity(row.sd, row.unit)}"
    if row.extent is not None:
        text += f" ({number(row.extent[0])} to {number(row.extent[1])})"
    return text


def said(row: Beside, one: Compared | None) -> str:
    """The verdict in words, with the difference or the reason."""
    if one is None or row.verdict != "comparable":
        return f"{row.verdict}: {row.why.replace('`', '')}"
    if one.difference is None:
        return row.verdict
    if one.relative:
        return f"{row.verdict}: {change(one.difference, one.difference_interval)}"
    if row.unit != "%":
        less = quantity_interval(one.difference, one.difference_interval, row.unit)
        return f"{row.verdict}: {less} apart"
    return f"{row.verdict}: {_points(one.difference, one.difference_interval)}"


def _points(difference: float, interval: Interval | None) -> str:
    ends = "" if interval is None else f" [{interval.low:+.3g}, {interval.high:+.3g}]"
    return f"{difference:+.3g}{ends} percentage points"


def rows_of(tables: tuple[TableBeside, ...], name: str) -> tuple[Beside, ...]:
    """Rows of one table; empty if the run has no figure of it."""
    return next((table.rows for table in tables if table.name == name), ())
