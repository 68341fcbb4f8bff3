"""Tables of the verbs of the elastic service."""

from __future__ import annotations

from typing import Any


def table(header: list[str], rows: list[list[str]]) -> Any:
    """A table of text, aligned to the right, for the console."""
    from rich.markup import escape
    from rich.table import Table

    made = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for title in header:
        made.add_column(title, justify="right")
    for row in rows:
        made.add_row(*(escape(field) for field in row))
    return made
