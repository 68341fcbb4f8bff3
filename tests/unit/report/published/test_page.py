from __future__ import annotations

from aferir.report.published.compare import load
from aferir.report.published.page import page
from tests.checkout import ROOT


def test_the_page_is_as_the_declarations_say() -> None:
    written = (ROOT / "docs/reference/published.md").read_text(encoding="utf-8")
    assert page(load(ROOT / "reference")) == written, "run `make reference`"


def test_every_row_has_a_line_with_what_answers_it_or_why_nothing_does() -> None:
    known = load(ROOT / "reference")
    lines = [line for line in page(known).splitlines() if line.startswith("| ")]
    rows = [row for one in known for row in one.rows]
    assert len(lines) == len(rows) + 2 * len(known)
    assert sum("| nothing: " in line for line in lines) == sum(not row.find for row in rows)
