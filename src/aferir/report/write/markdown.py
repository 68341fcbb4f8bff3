"""The report as Markdown: sentences and tables, for a repository or an issue."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from aferir.model.provenance import Provenance
from aferir.model.record import Warning
from aferir.report import page
from aferir.report.blocks import (
    Alerts,
    Block,
    Field,
    Heading,
    Named,
    Paragraph,
    Picture,
    Section,
    Statements,
    Table,
    Toned,
)
from aferir.report.formatting import labelled
from aferir.report.model import Evaluation


def write_markdown(
    path: Path,
    evaluation: Evaluation,
    *,
    provenance: Provenance | None = None,
    reference: Path | None = None,
) -> None:
    """Write the Markdown file. Errors: OSError."""
    text = markdown(evaluation, provenance=provenance, reference=reference)
    path.write_text(text, encoding="utf-8")


def markdown(
    evaluation: Evaluation,
    *,
    provenance: Provenance | None = None,
    reference: Path | None = None,
) -> str:
    """The report as Markdown text; names from other people's files cannot become markup."""
    sections = page.sections(evaluation, provenance=provenance, reference=reference)
    return text_of(sections, title=evaluation.title, lead=_lead(evaluation, provenance))


def text_of(sections: Sequence[Section], *, title: str, lead: str) -> str:
    """Sections as Markdown text, below a title and a line that says what they describe."""
    parts = [
        f"# {escape(title)}",
        lead,
        *(part for section in sections if not section.page_only for part in _section(section)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def escape(text: str) -> str:
    """Text with all characters escaped that Markdown or HTML would interpret."""
    one_line = re.sub(r"\s+", " ", text)
    entities = one_line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_{}\[\]#|])", r"\\\1", entities)


def _lead(evaluation: Evaluation, provenance: Provenance | None) -> str:
    version = f", aferir {provenance.version}" if provenance else ""
    count = evaluation.repetitions
    repetitions = f"{count} repetition" if count == 1 else f"{count} repetitions"
    return escape(f"Run {evaluation.name}, {repetitions}, baseline {evaluation.baseline}{version}.")


def _section(section: Section) -> list[str]:
    """Markdown parts of a section, without pictures and their introductions; may be empty."""
    shown = list(_without_pictures(section.blocks))
    if not shown:
        return []
    heading = [f"## {escape(section.title)}"] if section.title else []
    return [*heading, *map(_block, shown)]


def _without_pictures(blocks: Iterable[Block]) -> list[Block]:
    """Blocks other than pictures, without the headings and paragraphs directly before a picture."""
    shown: list[Block] = []
    for block in blocks:
        if isinstance(block, Picture):
            while shown and isinstance(shown[-1], Heading | Paragraph):
                shown.pop()
        else:
            shown.append(block)
    return shown


def _block(block: Block) -> str:
    if isinstance(block, Paragraph):
        return escape(block.text)
    if isinstance(block, Heading):
        return f"### {escape(block.text)}"
    if isinstance(block, Statements):
        return "\n".join(f"- {escape(one.text)}" for one in block.statements)
    if isinstance(block, Alerts):
        return "\n".join(map(_alert, block.warnings))
    if isinstance(block, Table):
        return _table(block)
    raise TypeError(f"{type(block).__name__}: a section with one is for the page only")


def _alert(warning: Warning) -> str:
    advice = f" ({escape(warning.advice)})" if warning.advice else ""
    return f"- **{escape(warning.code)}**: {escape(warning.message)}{advice}"


def _table(table: Table) -> str:
    rows = [table.header, *table.rows]
    lines = [[_field(field) for field in row] for row in rows]
    lines.insert(1, ["---"] * len(table.header))
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _field(field: Field) -> str:
    if isinstance(field, str):
        return escape(field)
    if isinstance(field, Named):
        return escape(labelled(field.environment, field.emulated))
    if isinstance(field, Toned):
        claimed = field.tone in ("slower", "faster", "failed")
        return f"**{escape(field.text)}**" if claimed else escape(field.text)
    return escape(field.text)
