"""The report as one self-contained HTML file: no script, no font, no network."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from aferir.model.provenance import Provenance
from aferir.report import formatting, page
from aferir.report.blocks import Block, Field, Picture, Section, Table
from aferir.report.marks import MARKS, mark, places
from aferir.report.model import Evaluation

WIDE = 100
"""Number of cells from which on folded sections stay folded in print."""
_UNIT = re.compile(r"(\d) (%|[mµn]?s\b|times\b)")
_FIGURE = re.compile(r"[-+]?[\d.,]+( |$)|< |–$|∞")  # noqa: RUF001 - the sign of an empty field


def write_html(
    path: Path,
    evaluation: Evaluation,
    *,
    provenance: Provenance | None = None,
    reference: Path | None = None,
) -> None:
    """Write the page; `reference` is the folder of published results. Errors: OSError."""
    text = html(evaluation, provenance=provenance, reference=reference)
    path.write_text(text, encoding="utf-8")


def html(
    evaluation: Evaluation,
    *,
    provenance: Provenance | None = None,
    reference: Path | None = None,
) -> str:
    """The page as text; all names and messages, which may come from other people, are escaped."""
    return page_of(
        page.sections(evaluation, provenance=provenance, reference=reference),
        title=evaluation.title,
        meta=_meta(evaluation, provenance),
        environments=evaluation.environments,
        wide=len(evaluation.cells) > WIDE,
    )


def page_of(
    sections: Sequence[Section],
    *,
    title: str,
    meta: str,
    environments: Sequence[str],
    wide: bool = False,
) -> str:
    """A page of sections, the first of which stands above all others without a title.

    `meta` is the line below the title, and `environments` are all that sections name.
    """
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["unbroken"] = unbroken
    return environment.get_template("report.html.j2").render(
        title=title,
        meta=meta,
        wide=wide,
        places=places(environments),
        marks=[mark(place) for place in range(min(MARKS, len(environments)))],
        first=sections[0],
        sections=sections[1:],
        kind=_kind,
        svgs=_svgs,
        numeric=_numeric,
        table_rows=_table_rows,
        keep=_keep,
    )


def _meta(evaluation: Evaluation, provenance: Provenance | None) -> str:
    started = _started(provenance)
    parts = [
        f"Run {evaluation.name}",
        *([started] if started else []),
        _counted(evaluation.repetitions, "repetition"),
        _counted(len(evaluation.groups), "group"),
        f"baseline {evaluation.baseline}",
        *([f"aferir {provenance.version}"] if provenance else []),
    ]
    return " · ".join(parts)


def _counted(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _kind(value: Block | Field) -> str:
    """Name of the template's macro for a block or a field."""
    return type(value).__name__.lower()


def _svgs(picture: Picture) -> list[Markup]:
    """Charts as markup, which is not escaped again, since charts escape their own text."""
    return [Markup(svg) for svg in picture.draw()]  # noqa: S704


def _numeric(field: Field) -> bool:
    """True if a field is a figure, which a narrow page must not break."""
    return isinstance(field, str) and len(field) < 40 and bool(_FIGURE.match(field))


def _table_rows(table: Table) -> list[tuple[Field | None, tuple[Field, ...]]]:
    """Rows of a table; a grouped one has the first field only where it changes."""
    if not table.grouped:
        return [(None, row) for row in table.rows]
    rows: list[tuple[Field | None, tuple[Field, ...]]] = []
    before: Field | None = None
    for row in table.rows:
        rows.append((None if row[0] == before else row[0], row[1:]))
        before = row[0]
    return rows


def _keep(section: Section) -> int | None:
    """Index of the first picture, which is printed on one page with its introduction."""
    kinds = [isinstance(block, Picture) for block in section.blocks]
    return kinds.index(True) if True in kinds else None


def unbroken(text: str) -> str:
    """Text with non-breaking spaces in figures such as `+6.9 %` and `n = 12`."""
    return _UNIT.sub("\\1\u00a0\\2", text.replace("n = ", "n\u00a0=\u00a0"))


def _started(provenance: Provenance | None) -> str:
    if provenance is None or not provenance.segments:
        return ""
    return formatting.instant(provenance.segments[0].started_unix_ns)
