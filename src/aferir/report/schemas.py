"""JSON Schemas (draft 2020-12) of the files of a run folder and of `report.json`, with a version.

The version is `FORMAT.REVISION`, as in semantic versioning. The format, which the files state,
rises if a field is removed or changes its meaning: earlier programs cannot read the file. The
revision rises if a field is added: it has a default, and earlier programs ignore it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from aferir.model.plan import Plan
from aferir.model.provenance import Provenance
from aferir.model.record import Record
from aferir.report.write import json
from aferir.store import run


class Described(msgspec.Struct, frozen=True):
    """A file of a run that other programs may read."""

    content: type
    version: str
    title: str


_FOLDER = f"{run.FORMAT}.1"
_REPORT = f"{json.FORMAT}.1"
FILES = {
    run.MANIFEST: Described(run.Manifest, _FOLDER, "Manifest of a run"),
    run.PLAN: Described(Plan, _FOLDER, "Plan of a run: environments, cells and rules"),
    run.PROVENANCE: Described(Provenance, _FOLDER, "Machine and software of a run"),
    run.RECORDS: Described(Record, _FOLDER, "One line of the records: one repetition"),
    run.COMPLETE: Described(run.Ending, _FOLDER, "End of a run"),
    "report.json": Described(json.Export, _REPORT, "Evaluation of a run"),
}


def schema(name: str) -> dict[str, Any]:
    """Schema of a file in `FILES`. Numbers may be null: JSON has no infinite ones."""
    file = FILES[name]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:aferir:{name}:{file.version}",
        "title": file.title,
        **_plain(msgspec.json.schema(file.content)),
    }


def _plain(node: Any) -> Any:
    """Schema in which numbers may be null, without the docstrings of classes as descriptions."""
    if isinstance(node, dict):
        kept = {key: _plain(value) for key, value in node.items()}
        if isinstance(kept.get("description"), str):
            del kept["description"]
        return kept | {"type": ["number", "null"]} if node.get("type") == "number" else kept
    return [_plain(one) for one in node] if isinstance(node, list | tuple) else node
