"""Every row of a table has as many cells as its head: a reader never sees those beyond."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.checkout import ROOT
from tests.docs.test_links import PAGES

_BAR = re.compile(r"(?<!\\)\|")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_rows_have_as_many_cells_as_their_head(page: Path) -> None:
    assert uneven(page.read_text(encoding="utf-8")) == []


def uneven(content: str) -> list[int]:
    """Lines of a page with a row that has more or fewer cells than the first of its table."""
    found = []
    fenced, bars = False, 0
    for number, line in enumerate(content.splitlines(), start=1):
        fenced ^= line.startswith("```")
        if fenced or not line.startswith("|"):
            bars = 0
            continue
        here = len(_BAR.findall(line))
        bars = bars or here
        if here != bars:
            found.append(number)
    return found


def test_rows_that_differ_are_found() -> None:
    page = """\
| a | b |
| --- | --- |
| 1 | `x\\|y` |
| 1 | 2 | 3 |
| 1 |

| c |
| --- |
| 1 |

```text
| 1 |
| 1 | 2 |
```
"""
    assert uneven(page) == [4, 5]
