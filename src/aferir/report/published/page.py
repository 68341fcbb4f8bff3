"""The reference page of all published rows, as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from aferir.report.formatting import number, quantity
from aferir.report.published.model import Condition, Known, Row

_HEAD = """\
# Published results, and what of aferir answers them

Made by `make reference` from the declarations in `src/aferir/report/published/tables/` and the
files in `reference/`; do not edit it.

A report shows a table where the run has at least one figure that answers one of its rows, with a
verdict for each row: **comparable**, with the difference and its interval; **not comparable**,
with the conditions that are others; or **not measured**. A row that nothing answers says why here.
"""


def page(known: Sequence[Known]) -> str:
    """The page: one table for each file, with every row."""
    return "\n".join([_HEAD, *map(_table, known)])


def _table(one: Known) -> str:
    lines = [
        f"## {one.table.title}",
        "",
        f"[{one.table.name}.csv](../../reference/{one.table.name}.csv). {one.table.differs}",
        "",
        "| published | figure | source | answered by | comparable if |",
        "| --- | --- | --- | --- | --- |",
        *map(_row, one.rows),
        "",
    ]
    return "\n".join(lines)


def _row(row: Row) -> str:
    figure = quantity(row.value, row.unit)
    if row.sd is not None:
        figure += f" ± {quantity(row.sd, row.unit)}"
    if row.extent is not None:
        figure += f" ({number(row.extent[0])} to {number(row.extent[1])})"
    answer = row.answer if row.find else f"nothing: {row.answer}"
    conditions = ", ".join(map(_condition, (*row.pick, *row.alike))) if row.find else "–"  # noqa: RUF001
    fields = (row.what, figure, row.source, answer, conditions or "always")
    return "| " + " | ".join(field.replace("|", "\\|") for field in fields) + " |"


def _condition(condition: Condition) -> str:
    value = condition.there
    shown = f"{value:.4g}" if isinstance(value, float) else str(value)
    return f"{condition.name} = {shown}"
