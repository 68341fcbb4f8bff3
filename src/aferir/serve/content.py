"""Reads what the pages show of a run, but not its samples, so that a page opens quickly."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from aferir.errors import AferirError
from aferir.model.plan import Plan
from aferir.model.provenance import Provenance, cut_short
from aferir.store.history import Conditions, conditions
from aferir.store.reported import FORMS, is_reported
from aferir.store.run import (
    COMPLETE,
    PROVENANCE,
    RECORDS,
    Ending,
    list_folders,
    read_json,
    read_manifest,
    read_plan,
)

_PIECE = 2**20
"""Number of bytes that are read at a time to count lines."""


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """One run in the list of runs."""

    name: str
    """Name of its folder."""
    experiment: str = ""
    title: str = ""
    status: Literal["complete", "unfinished", "damaged"]
    records: int = 0
    note: str = ""
    """Reason for the status `damaged`; of a complete run that its time limit ended, how much of its
    plan was carried out.
    """
    environments: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()
    conditions: Conditions | None = None
    """Conditions of the run, such as host and kernel; None if the run is damaged."""


class _Told(msgspec.Struct, frozen=True):
    text: str
    environment: str = ""


class _Evaluated(msgspec.Struct, frozen=True):
    sentences: tuple[_Told, ...] = ()


class _Export(msgspec.Struct, frozen=True):
    """Part of `report.json` that a run's page repeats."""

    evaluation: _Evaluated = _Evaluated()


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """One run on its own page."""

    listed: Listed
    plan: Plan
    provenance: Provenance
    sentences: tuple[str, ...]
    """Sentences of its report; empty if there is none yet."""
    files: tuple[str, ...]
    """Files of its report that can be downloaded."""


def listed(folder: Path) -> list[Listed]:
    """All runs of a folder, the newest first. Errors: UsageError if it is no folder."""
    found = [one(path) for path in list_folders(folder)]
    return sorted(found, key=lambda run: (_started(run), run.name), reverse=True)


def _started(run: Listed) -> int:
    return run.conditions.started_unix_ns if run.conditions else 0


def one(folder: Path) -> Listed:
    """One run for the list; a run that cannot be read is listed as damaged, with the reason."""
    try:
        manifest = read_manifest(folder)
        plan = read_plan(folder)
        provenance = read_json(folder / PROVENANCE, Provenance)
        complete = (folder / COMPLETE).is_file()
        count = read_json(folder / COMPLETE, Ending).records if complete else _lines(folder)
    except (AferirError, OSError) as error:
        reason = error.message if isinstance(error, AferirError) else str(error)
        return Listed(name=folder.name, status="damaged", note=reason)
    return Listed(
        name=folder.name,
        experiment=plan.name,
        title=plan.title or plan.name,
        status="complete" if complete else "unfinished",
        records=count,
        note=cut_short(provenance.warnings) if complete else "",
        environments=tuple(spec.name for spec in plan.environments),
        workloads=tuple(dict.fromkeys(cell.workload.name for cell in plan.cells)),
        conditions=conditions(folder, manifest, provenance),
    )


def shown(folder: Path) -> Shown:
    """One run for its own page. Errors: UsageError if it is damaged."""
    reported = is_reported(folder)
    told: tuple[_Told, ...] = ()
    if reported:
        told = read_json(folder / FORMS["json"], _Export).evaluation.sentences
    return Shown(
        listed=one(folder),
        plan=read_plan(folder),
        provenance=read_json(folder / PROVENANCE, Provenance),
        sentences=tuple(sentence.text for sentence in told),
        files=tuple(FORMS.values()) if reported else (),
    )


def _lines(folder: Path) -> int:
    """Count the complete lines of the records."""
    path = folder / RECORDS
    if not path.is_file():
        return 0
    with path.open("rb") as stream:
        return sum(piece.count(b"\n") for piece in iter(lambda: stream.read(_PIECE), b""))
