"""Which files a report consists of, and whether they tell of the run as it is."""

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
"""Form to file, in the order of writing: whoever finds the last one finds all of them written."""


class _Export(msgspec.Struct, frozen=True):
    """As much of `report.json` as tells of which state of the run it is."""

    provenance: Provenance | None = None


def is_reported(folder: Path) -> bool:
    """Whether every form is there, and none from before the run was done."""
    if not all((folder / name).is_file() for name in FORMS.values()):
        return False
    try:
        told = read_json(folder / FORMS["json"], _Export).provenance
        return told == read_json(folder / PROVENANCE, Provenance)
    except AferirError:
        return False
