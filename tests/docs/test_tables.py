"""Every row of a table has as many fields as its header, also after rows were moved."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checkout import ROOT
from tests.docs.test_links import PAGES

_ESCAPED = "\\|"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_row_has_the_fields_of_its_header(page: Path) -> None:
    assert odd_rows(page.read_text(encoding="utf-8")) == []


def odd_rows(text: str) -> list[str]:
    """Rows of tables with more or fewer fields than the first row of their table."""
    odd, header, fenced = [], 0, False
    for line in text.splitlines():
        fenced ^= line.lstrip().startswith("```")
        if fenced or not line.startswith("|"):
            header = 0
            continue
        fields = line.replace(_ESCAPED, "").count("|")
        header = header or fields
        if fields != header:
            odd.append(line)
    return odd


def test_a_row_of_another_table_is_found() -> None:
    table = "| a | b |\n| --- | --- |\n| 1 | `x\\|y` |\n| 1 | 2\\|3 |\n"
    assert odd_rows(table) == []
    assert odd_rows(f"{table}| 1 | 2 | 3 |\n") == ["| 1 | 2 | 3 |"]
    assert odd_rows(f"```\n| 1 |\n| 1 | 2 |\n```\n{table}\n| 1 |\n") == []
