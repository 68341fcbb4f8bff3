"""What the sections of a report are made of: values without a form. Each writer gives them one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from aferir.model.provenance import Provenance
from aferir.model.record import Warning
from aferir.report.model import Evaluation
from aferir.report.published import Published

Tone = Literal["slower", "faster", "alike", "open", "failed", "none"]
"""What a comparison came to; a form may colour it, the text says it without colours too."""


class Named(msgspec.Struct, frozen=True):
    """An environment in a field: forms add its mark, and that it was emulated."""

    environment: str
    emulated: bool


class Code(msgspec.Struct, frozen=True):
    """The code of a failure or a warning."""

    text: str


class Toned(msgspec.Struct, frozen=True):
    """A field whose outcome is seen before it is read."""

    text: str
    tone: Tone
    details: str = ""


Field = str | Named | Code | Toned


class Paragraph(msgspec.Struct, frozen=True):
    """Running text; a quiet one explains what stands above it."""

    text: str
    quiet: bool = False


class Heading(msgspec.Struct, frozen=True):
    """A heading within a section."""

    text: str


class Statement(msgspec.Struct, frozen=True):
    """One thing that the report says, about one environment or (empty) about the whole run."""

    text: str
    environment: str = ""
    emulated: bool = False


class Statements(msgspec.Struct, frozen=True):
    """The first thing that is read."""

    statements: tuple[Statement, ...]


class Alerts(msgspec.Struct, frozen=True):
    """What concerns the run as a whole: its warnings, and what had to be left out."""

    warnings: tuple[Warning, ...]


class Table(msgspec.Struct, frozen=True):
    """Rows under a header; each row has as many fields as the header."""

    header: tuple[Field, ...]
    rows: tuple[tuple[Field, ...], ...]
    grouped: bool = False
    """The first column is the same for several rows in a row, which a form may say once."""
    dense: bool = False
    """Many narrow columns: a form may turn the header's names by 90 degrees."""


class Picture(msgspec.Struct, frozen=True):
    """Charts as SVG, drawn when a form asks for them."""

    draw: Callable[[], tuple[str, ...]]


class Tree(msgspec.Struct, frozen=True):
    """Nested JSON, as the conditions of a run are."""

    value: object


Block = Paragraph | Heading | Statements | Alerts | Table | Picture | Tree


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """One section of the report."""

    title: str
    """Empty: it has no heading, as the first one."""
    blocks: tuple[Block, ...]
    folded: str = ""
    """What a folded section holds, in a few words; a page unfolds it on request. Empty: it is
    open."""
    page_only: bool = False
    """Details that Markdown leaves to the page and to the files for programs."""


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """What a section may speak about."""

    evaluation: Evaluation
    provenance: Provenance | None = None
    published: Published = Published()


Maker = Callable[[Subject], Section | None]
"""A section's one function; None where the run has nothing for it."""
