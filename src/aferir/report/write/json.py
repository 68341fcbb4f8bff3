"""The evaluation as JSON, for other programs: every figure, its n, interval and warnings."""

from __future__ import annotations

from pathlib import Path

import msgspec

from aferir.model.provenance import Provenance
from aferir.report.model import Evaluation
from aferir.report.overview import Overview, overview

FORMAT = 1
"""Raised when a field changes its meaning or goes."""


class Export(msgspec.Struct, frozen=True, kw_only=True):
    """What the file holds."""

    format: int = FORMAT
    overview: Overview | None = None
    """What the comparisons came to, counted; None in files of versions before it."""
    evaluation: Evaluation
    provenance: Provenance | None = None


def write_json(path: Path, evaluation: Evaluation, *, provenance: Provenance | None = None) -> None:
    """Write the file; infinite ends of an interval become null. Errors: OSError."""
    path.write_text(document(evaluation, provenance=provenance), encoding="utf-8")


def document(evaluation: Evaluation, *, provenance: Provenance | None = None) -> str:
    """What the file holds, as text."""
    export = Export(overview=overview(evaluation), evaluation=evaluation, provenance=provenance)
    return msgspec.json.format(msgspec.json.encode(export), indent=2).decode() + "\n"
