"""A run as an RO-Crate 1.1 in a zip file, which a paper can cite and a repository can store.

https://www.researchobject.org/ro-crate/specification/1.1/: all files of the run, its report, and
`ro-crate-metadata.json`, which says what they are, what made them and when.
"""

from __future__ import annotations

import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from aferir.report.model import Evaluation
from aferir.report.write.html import html
from aferir.store.history import conditions_of
from aferir.store.run import COMPLETE, EXPERIMENT, MANIFEST, PLAN, PROVENANCE, RECORDS, Run

METADATA = "ro-crate-metadata.json"
REPORT = "report.html"
_CONTEXT = "https://w3id.org/ro/crate/1.1/context"
_PROFILE = "https://w3id.org/ro/crate/1.1"
_FILES = {
    EXPERIMENT: ("application/toml", "Experiment file"),
    PLAN: ("application/json", "Plan: all cells, with the rules that order and stop them"),
    RECORDS: ("application/jsonl", "Records: one finished repetition a line, with its samples"),
    PROVENANCE: ("application/json", "Provenance: machine, software, findings and warnings"),
    MANIFEST: ("application/json", "Manifest of the run"),
    COMPLETE: ("application/json", "End of the run"),
}
Entity = dict[str, Any]
"""One entity of the metadata, whose keys are terms of schema.org."""


def write_crate(
    path: Path, run: Run, evaluation: Evaluation, *, reference: Path | None = None
) -> None:
    """Write the zip file; `reference` is the folder of published results. Errors: OSError."""
    report = html(evaluation, provenance=run.reported_provenance, reference=reference).encode()
    contents = {
        name: (run.folder / name).read_bytes() for name in _FILES if (run.folder / name).is_file()
    }
    contents[REPORT] = report
    sizes = {name: len(content) for name, content in contents.items()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(METADATA, document(run, evaluation, sizes))
        for name, content in contents.items():
            archive.writestr(name, content)


def document(run: Run, evaluation: Evaluation, sizes: dict[str, int]) -> bytes:
    """The metadata of the crate; `sizes` are the sizes of its files in bytes."""
    graph = [
        _descriptor(),
        _root(run, evaluation, sizes),
        *(_file(name, size) for name, size in sizes.items()),
        *_making(run, sizes),
    ]
    encoded = msgspec.json.encode({"@context": _CONTEXT, "@graph": graph})
    return msgspec.json.format(encoded, indent=2)


def _descriptor() -> Entity:
    return {
        "@id": METADATA,
        "@type": "CreativeWork",
        "conformsTo": {"@id": _PROFILE},
        "about": {"@id": "./"},
    }


def _root(run: Run, evaluation: Evaluation, sizes: dict[str, int]) -> Entity:
    environments = ", ".join(evaluation.environments)
    return {
        "@id": "./",
        "@type": "Dataset",
        "name": evaluation.title,
        "identifier": run.folder.resolve().name,
        "description": (
            f"Run of aferir {run.provenance.version}: {len(evaluation.groups)} groups in the "
            f"environments {environments}, {evaluation.repetitions} repetitions, "
            f"baseline {evaluation.baseline}."
        ),
        "datePublished": _day(_ended_ns(run)),
        "hasPart": [{"@id": name} for name in sizes],
        "mentions": {"@id": "#run"},
    }


def _file(name: str, size: int) -> Entity:
    form, told = _FILES.get(name, ("text/html", "Report"))
    return {
        "@id": name,
        "@type": "File",
        "name": told,
        "encodingFormat": form,
        "contentSize": str(size),
    }


def _making(run: Run, sizes: dict[str, int]) -> list[Entity]:
    """Entities for the run: its CreateAction, the software, and the machine that it ran on."""
    told = conditions_of(run)
    action = {
        "@id": "#run",
        "@type": "CreateAction",
        "name": "Measurement",
        "startTime": _time(told.started_unix_ns),
        "endTime": _time(_ended_ns(run)),
        "instrument": [{"@id": "#aferir"}, {"@id": "#machine"}],
        "object": [{"@id": EXPERIMENT}] if EXPERIMENT in sizes else [],
        "result": [{"@id": name} for name in (RECORDS, REPORT) if name in sizes],
    }
    software = {
        "@id": "#aferir",
        "@type": "SoftwareApplication",
        "name": "aferir",
        "softwareVersion": told.version,
    }
    machine = {
        "@id": "#machine",
        "@type": "IndividualProduct",
        "name": told.host or "unknown",
        "description": f"Linux {told.kernel or 'of an unknown version'}",
    }
    return [action, software, machine]


def _ended_ns(run: Run) -> int:
    """Latest time that the run records: an end, the start of a repetition, or its creation."""
    ends = [one.ended_unix_ns for one in run.provenance.segments if one.ended_unix_ns]
    last = max((one.started_unix_ns for one in run.records), default=0)
    return max([*ends, last, run.manifest.created_unix_ns])


def _time(unix_ns: int) -> str:
    return datetime.fromtimestamp(unix_ns // 10**9, UTC).isoformat()


def _day(unix_ns: int) -> str:
    return _time(unix_ns)[:10]
