"""The evaluation as JSON for other programs: every figure with n, interval and warnings."""

from __future__ import annotations

from pathlib import Path

import msgspec

from aferir.model.provenance import Provenance
from aferir.report.model import Evaluation
from aferir.report.overview import Overview, overview
from aferir.report.page import published_beside
from aferir.report.published.model import TableBeside

FORMAT = 1
"""Version of the format; increased when a field changes its meaning or is removed."""


class Export(msgspec.Struct, frozen=True, kw_only=True):
    """Content of `report.json`."""

    format: int = FORMAT
    overview: Overview | None = None
    """Counts of outcomes; None in files of earlier versions."""
    evaluation: Evaluation
    published: tuple[TableBeside, ...] = ()
    """Published tables with a figure that the run measured, too; each row has a verdict."""
    provenance: Provenance | None = None


def write_json(
    path: Path,
    evaluation: Evaluation,
    *,
    provenance: Provenance | None = None,
    reference: Path | None = None,
) -> None:
    """Write `report.json`; infinite ends of an interval become null. Errors: OSError."""
    text = document(evaluation, provenance=provenance, reference=reference)
    path.write_text(text, encoding="utf-8")


def document(
    evaluation: Evaluation,
    *,
    provenance: Provenance | None = None,
    reference: Path | None = None,
) -> str:
    """Content of `report.json` as text; `reference` is the folder of published results."""
    export = Export(
        overview=overview(evaluation),
        evaluation=evaluation,
        published=published_beside(evaluation, provenance, reference),
        provenance=provenance,
    )
    return msgspec.json.format(msgspec.json.encode(export), indent=2).decode() + "\n"
