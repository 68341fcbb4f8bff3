"""Files of a report, and whether they describe the present state of the run."""

from __future__ import annotations

from pathlib import Path

import msgspec

from aferir.errors import AferirError
from aferir.model.provenance import Provenance
from aferir.store.run import PROVENANCE, read_json

FORMS = {
    "html": "report.html",
    "markdown": "report.md",
    "samples": "samples.csv",
    "summary": "summary.csv",
    "json": "report.json",
}
"""File of each form, in the order of writing: if the last one exists, all of them do."""


class _Export(msgspec.Struct, frozen=True):
    """Part of `report.json` that identifies the state of the run."""

    provenance: Provenance | None = None


def is_reported(folder: Path) -> bool:
    """True if every form exists and was written after the run was complete."""
    if not all((folder / name).is_file() for name in FORMS.values()):
        return False
    try:
        told = read_json(folder / FORMS["json"], _Export).provenance
        return told == read_json(folder / PROVENANCE, Provenance)
    except AferirError:
        return False
