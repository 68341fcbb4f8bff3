"""Blocks of which sections are made: values without a form, which each writer renders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from aferir.model.provenance import Provenance
from aferir.model.record import Warning
from aferir.report.model import Evaluation
from aferir.report.published.model import TableBeside

Tone = Literal["slower", "faster", "alike", "open", "failed", "none"]
"""Outcome of a comparison; a form of the report may show it as a colour beside the words."""


class Named(msgspec.Struct, frozen=True):
    """An environment in a field, with a mark, and a badge if it was emulated."""

    environment: str
    emulated: bool


class Code(msgspec.Struct, frozen=True):
    """Code of a failure or of a warning, as the field of a table."""

    text: str


class Toned(msgspec.Struct, frozen=True):
    """A field whose tone shows the outcome at a glance."""

    text: str
    tone: Tone
    details: str = ""


Field = str | Named | Code | Toned


class Paragraph(msgspec.Struct, frozen=True):
    """A paragraph of text; a quiet one explains the block above it."""

    text: str
    quiet: bool = False


class Heading(msgspec.Struct, frozen=True):
    """A heading within a section."""

    text: str


class Statement(msgspec.Struct, frozen=True):
    """One statement at the top of the report; without `environment`, about the whole run."""

    text: str
    environment: str = ""
    emulated: bool = False


class Statements(msgspec.Struct, frozen=True):
    """Statements at the top of the report."""

    statements: tuple[Statement, ...]


class Alerts(msgspec.Struct, frozen=True):
    """Warnings about the run as a whole, including what was left out of the run."""

    warnings: tuple[Warning, ...]


class Table(msgspec.Struct, frozen=True):
    """Rows below a header; each row has as many fields as the header."""

    header: tuple[Field, ...]
    rows: tuple[tuple[Field, ...], ...]
    grouped: bool = False
    """True if consecutive rows share their first column, which a form may show once."""
    dense: bool = False
    """True if there are many narrow columns, so that a form may rotate the header by 90 degrees."""


class Picture(msgspec.Struct, frozen=True):
    """Charts as SVG, drawn only when a form of the report shows them."""

    draw: Callable[[], tuple[str, ...]]


class Tree(msgspec.Struct, frozen=True):
    """Nested JSON, such as the provenance of a run."""

    value: object


Block = Paragraph | Heading | Statements | Alerts | Table | Picture | Tree


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """One section of the report."""

    title: str
    """Heading; empty for the first section, which has none."""
    blocks: tuple[Block, ...]
    folded: str = ""
    """Short description of a folded section, which a page unfolds on request; empty: not folded."""
    page_only: bool = False
    """True for details that only the page and the files for programs contain."""


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """Data that the sections of a report are made from."""

    evaluation: Evaluation
    provenance: Provenance | None = None
    published: tuple[TableBeside, ...] = ()
    """Published tables with at least one figure that the run measured, too."""


Maker = Callable[[Subject], Section | None]
"""Function that makes a section; None if the run has no data for it."""
