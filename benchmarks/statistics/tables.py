"""Put the tables of a bench's results into docs/concepts/statistics.md.

`python -m benchmarks statistics --json > result.json`, then `python -m benchmarks.statistics.tables
result.json`. If parts were run one by one (`--only`), name their results one after the other.
Figures whose target is missed are bold.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from aferir.model.bench import BenchResult, Figure

PAGE = Path("docs/concepts/statistics.md")
BEGIN, END = "<!-- tables begin -->", "<!-- tables end -->"
_Named = dict[str, Figure]


class _Document(BenchResult, frozen=True, kw_only=True):
    """A bench's result, as it prints it in JSON."""


def main(*results: Path) -> None:
    """Replace the text between the marks `BEGIN` and `END` of the page."""
    documents = [msgspec.json.decode(path.read_bytes(), type=_Document) for path in results]
    figures = {figure.name: figure for document in documents for figure in document.figures}
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{tables(figures)}\n{END}{after}", encoding="utf-8")


def tables(figures: _Named) -> str:
    """Return all tables, each with a heading."""
    parts = [
        _grid("Coverage of 95 % intervals, paired", figures, "coverage.paired."),
        _grid("Coverage of 95 % intervals, unpaired", figures, "coverage.unpaired."),
        _grid("False claims, paired", figures, "false-claims.paired."),
        _grid("False claims, unpaired", figures, "false-claims.unpaired."),
        _grid("Called equivalent although one side stalls", figures, "equivalence."),
        _grid("Stalls that are the verdict", figures, "stalls-seen."),
        _grid("Power: true differences that are claimed", figures, "power."),
        _grid("Dependence: intervals that wrongly leave out 1", figures, "wrong-intervals."),
        _grid("Of these intervals, with a warning", figures, "of-these-warned."),
    ]
    return "\n".join(part for part in parts if part)


def _grid(title: str, figures: _Named, prefix: str) -> str:
    """Return a table whose columns are n, or the size of a family: the last part of the names."""
    own = {name.removeprefix(prefix): f for name, f in figures.items() if name.startswith(prefix)}
    cut: Callable[[str], int] = _family_cut if "false-claims" in prefix else _cut
    split = {name: (name[: cut(name)], name[cut(name) + 1 :]) for name in own}
    rows = list(dict.fromkeys(row for row, _ in split.values()))
    columns = sorted(dict.fromkeys(column for _, column in split.values()), key=_order)
    cells = {split[name]: figure for name, figure in own.items()}
    if not cells:
        return ""
    heads = [_head(column) for column in columns]
    lines = [f"### {title}", "", _row(["", *heads]), _row(["---", *["---:"] * len(columns)])]
    lines += [_row([row, *(_shown(cells.get((row, c))) for c in columns)]) for row in rows]
    return "\n".join([*lines, ""])


def _row(fields: Sequence[str]) -> str:
    return f"| {' | '.join(fields)} |"


def _cut(name: str) -> int:
    return name.rindex(".")


def _family_cut(name: str) -> int:
    """Return where to split `states.8.of-6` into its row (shape and n) and column (family)."""
    return name.rindex(".of-")


def _order(column: str) -> float:
    return float(column.removeprefix("of-"))


def _head(column: str) -> str:
    return f"{column.removeprefix('of-')} comparisons" if "of-" in column else f"n = {column}"


def _shown(figure: Figure | None) -> str:
    if figure is None or figure.value is None:
        return ""
    text = f"{figure.value:.1f}"
    return f"**{text}**" if figure.holds is False else text


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
