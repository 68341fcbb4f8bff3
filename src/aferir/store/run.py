"""Reading run folders."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from aferir.errors import AferirError, UsageError
from aferir.model.plan import Plan
from aferir.model.provenance import Provenance
from aferir.model.record import Record
from aferir.store.lines import decode_lines

MANIFEST = "run.json"
PLAN = "plan.json"
EXPERIMENT = "experiment.toml"
PROVENANCE = "provenance.json"
RECORDS = "records.jsonl"
COMPLETE = "complete.json"
LOCK = "lock"
FORMAT = 1

_Value = TypeVar("_Value")


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a run folder is."""

    format: int
    version: str
    """Of aferir."""
    name: str
    created_unix_ns: int
    experiment_sha256: str


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """That a run is done."""

    ended_unix_ns: int
    records: int


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One run as it stands on the disk."""

    folder: Path
    manifest: Manifest
    plan: Plan
    provenance: Provenance
    records: tuple[Record, ...]
    complete: bool


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a list of runs."""

    folder: Path
    name: str
    created_unix_ns: int
    status: Literal["complete", "unfinished", "damaged"]
    records: int
    note: str = ""
    """Why it is called damaged."""


def open_run(folder: Path) -> Run:
    """Read a whole run, one that is being written too.

    Errors: UsageError where the folder is no run, or is damaged; it names the file.
    """
    manifest = read_manifest(folder)
    records, _ = read_records(folder)
    return Run(
        folder=folder,
        manifest=manifest,
        plan=read_json(folder / PLAN, Plan),
        provenance=read_json(folder / PROVENANCE, Provenance),
        records=tuple(records),
        complete=(folder / COMPLETE).is_file(),
    )


def list_runs(folder: Path) -> list[RunSummary]:
    """All runs in a folder of runs, the newest first; other things in it are passed over."""
    try:
        inside = sorted(folder.iterdir()) if folder.is_dir() else []
    except OSError as reason:
        raise UsageError(
            f"{folder} cannot be read: {reason.strerror}", remedy="name another folder"
        ) from None
    runs = [_summary(path) for path in inside if (path / MANIFEST).is_file()]
    return sorted(runs, key=lambda run: (run.created_unix_ns, run.folder.name), reverse=True)


def read_manifest(folder: Path) -> Manifest:
    """What the folder is. Errors: UsageError where it is no run or a later version's."""
    if not (folder / MANIFEST).is_file():
        what = "is no run" if folder.is_dir() else "is no folder"
        raise UsageError(
            f"{folder} {what}", remedy="`aferir list` shows the runs; give the folder of one"
        )
    manifest = read_json(folder / MANIFEST, Manifest)
    if manifest.format > FORMAT:
        raise UsageError(
            f"{folder} was written by aferir {manifest.version}, in a later form",
            remedy="read it with that version",
        )
    return manifest


def read_records(folder: Path) -> tuple[list[Record], int]:
    """All whole records and the bytes they take; a torn last line is left out."""
    path = folder / RECORDS
    try:
        return decode_lines(path.read_bytes())
    except FileNotFoundError:
        return [], 0
    except OSError as reason:
        raise _damaged(path, reason.strerror or "unreadable") from None
    except ValueError as reason:
        raise _damaged(path, str(reason)) from None


def read_json(path: Path, kind: type[_Value]) -> _Value:
    """One file of a run. Errors: UsageError where it is missing or damaged."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except OSError as reason:
        raise _damaged(path, reason.strerror or "unreadable") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as reason:
        raise _damaged(path, str(reason)) from None


def _summary(folder: Path) -> RunSummary:
    try:
        manifest = read_manifest(folder)
        records, _ = read_records(folder)
    except AferirError as error:
        return RunSummary(
            folder=folder,
            name=folder.name,
            created_unix_ns=0,
            status="damaged",
            records=0,
            note=error.message,
        )
    return RunSummary(
        folder=folder,
        name=manifest.name,
        created_unix_ns=manifest.created_unix_ns,
        status="complete" if (folder / COMPLETE).is_file() else "unfinished",
        records=len(records),
    )


def _damaged(path: Path, reason: str) -> UsageError:
    return UsageError(
        f"{path} is damaged: {reason}",
        remedy="restore it from a copy, or move the run's folder away and run it again",
    )
