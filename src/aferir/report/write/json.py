"""The evaluation as JSON for other programs: every figure with n, interval and warnings."""

from __future__ import annotations

from pathlib import Path

import msgspec

from aferir.model.provenance import Provenance
from aferir.report.model import Evaluation
from aferir.report.overview import Overview, overview

FORMAT = 1
"""Version of the format; increased when a field changes its meaning or is removed."""


class Export(msgspec.Struct, frozen=True, kw_only=True):
    """Content of the file."""

    format: int = FORMAT
    overview: Overview | None = None
    """Counts of outcomes; None in files of earlier versions."""
    evaluation: Evaluation
    provenance: Provenance | None = None


def write_json(path: Path, evaluation: Evaluation, *, provenance: Provenance | None = None) -> None:
    """Write the file; infinite ends of an interval become null. Errors: OSError."""
    path.write_text(document(evaluation, provenance=provenance), encoding="utf-8")


def document(evaluation: Evaluation, *, provenance: Provenance | None = None) -> str:
    """Content of the file as text."""
    export = Export(overview=overview(evaluation), evaluation=evaluation, provenance=provenance)
    return msgspec.json.format(msgspec.json.encode(export), indent=2).decode() + "\n"
