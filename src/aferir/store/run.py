"""Reads run folders."""

from __future__ import annotations

import errno
import stat
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import msgspec

from aferir.errors import AferirError, RefusedError, UsageError
from aferir.linux.refusal import refused
from aferir.model.plain import plain_values
from aferir.model.plan import Parameter, Plan, recorded_cells
from aferir.model.provenance import Provenance, cut_short
from aferir.model.record import Record, Warning
from aferir.store.lines import decode_lines, refuse_strangers

MANIFEST = "run.json"
PLAN = "plan.json"
EXPERIMENT = "experiment.toml"
PROVENANCE = "provenance.json"
RECORDS = "records.jsonl"
COMPLETE = "complete.json"
LOCK = "lock"
FORMAT = 1
_AS_OWNER = "read it as its owner or as root, or have the owner permit it: chmod -R a+rX"

_UNFINISHED = Warning(
    "unfinished",
    "the run is unfinished: these are the repetitions so far",
    "run the same command again: it goes on where it stopped",
)

_Value = TypeVar("_Value")


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """Content of the manifest, `run.json`."""

    format: int
    version: str
    """Version of aferir."""
    name: str
    created_unix_ns: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
    """Time of creation, at most in the year 2262: a later date cannot be shown, and is damage."""
    experiment_sha256: str


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """Content of `complete.json`, which marks a run as complete."""

    ended_unix_ns: int
    records: int


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One run as stored on the disk."""

    folder: Path
    manifest: Manifest
    plan: Plan
    provenance: Provenance
    records: tuple[Record, ...]
    complete: bool
    specifications: dict[str, dict[str, Parameter]] = {}
    """Plain values of each environment's specification by its name, also of fields that only its
    kind has, which `plan` does not keep.
    """

    @property
    def reported_provenance(self) -> Provenance:
        """Provenance with a warning as long as the run is unfinished."""
        if self.complete:
            return self.provenance
        warnings = (*self.provenance.warnings, _UNFINISHED)
        return msgspec.structs.replace(self.provenance, warnings=warnings)


class _AsWritten(msgspec.Struct, frozen=True):
    """Environments of a stored plan as written, with the fields that only some kinds have."""

    environments: tuple[dict[str, object], ...]


class _Warned(msgspec.Struct, frozen=True):
    """Warnings of a stored provenance; its other fields are not decoded."""

    warnings: tuple[Warning, ...] = ()


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a list of runs."""

    folder: Path
    name: str
    created_unix_ns: int
    status: Literal["complete", "unfinished", "damaged", "unreadable"]
    records: int
    note: str = ""
    """Reason why the run is damaged or unreadable; of a complete run that its time limit ended, how
    much of its plan was carried out.
    """


def open_run(folder: Path) -> Run:
    """Read a whole run, even while it is being written.

    Errors: UsageError if the folder is no run, or is damaged; RefusedError if it may not be
    read. Both name the file.
    """
    manifest = read_manifest(folder)
    plan = read_plan(folder)
    records = _records_of(folder, plan)
    complete = is_complete(folder, len(records))
    return Run(
        folder=folder,
        manifest=manifest,
        plan=plan,
        provenance=read_json(folder / PROVENANCE, Provenance),
        records=tuple(records),
        complete=complete,
        specifications={
            str(one["name"]): plain_values(one)
            for one in read_json(folder / PLAN, _AsWritten).environments
        },
    )


def is_complete(folder: Path, records: int) -> bool:
    """True if the run is complete; `records` is the number of records found.

    Errors: UsageError if it was completed with another number of them, so that some are lost.
    """
    path = folder / COMPLETE
    if not exists(path):
        return False
    ending = read_json(path, Ending)
    if ending.records != records:
        raise damaged(
            folder / RECORDS, f"the run ended with {ending.records} records, and {records} are left"
        )
    return True


def is_cut_short(folder: Path) -> bool:
    """True if the time limit ended the run before the end of its plan."""
    return bool(_why_cut_short(folder))


def _why_cut_short(folder: Path) -> str:
    return cut_short(read_json(folder / PROVENANCE, _Warned).warnings)


def exists(path: Path) -> bool:
    """True if the file exists. Errors: RefusedError if the folder is not accessible."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as reason:
        raise _unreadable(reason, path) from None
    return True


def list_runs(folder: Path) -> list[RunSummary]:
    """All runs in a folder of runs, the newest first; other entries are skipped.

    Damaged and unreadable runs are listed as such.
    """
    runs = [run for path in _inside(folder) if (run := _summary(path)) is not None]
    return sorted(runs, key=lambda run: (run.created_unix_ns, run.folder.name), reverse=True)


def list_folders(folder: Path) -> list[Path]:
    """Folders of all runs in a folder of runs, by name, without a look at what is in them.

    A folder that may not be looked into is one of them: reading it says why it cannot be read.
    Errors: UsageError if `folder` is no folder; RefusedError if it may not be read.
    """
    return [path for path in _inside(folder) if _may_be_run(path)]


def _may_be_run(folder: Path) -> bool:
    try:
        return (folder / MANIFEST).is_file()
    except PermissionError:
        return True


def _inside(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir()) if exists(folder) else []
    except NotADirectoryError:
        raise UsageError(
            f"{folder} is no folder", remedy="name the folder that has the runs"
        ) from None
    except OSError as reason:
        raise refused(reason, folder, "read", remedy="name another folder") from None


def read_manifest(folder: Path) -> Manifest:
    """Manifest of a run. Errors: UsageError if it is no run, or of a later version."""
    if not exists(folder / MANIFEST):
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
    """All complete records and the number of their bytes; an incomplete last line is left out."""
    path = folder / RECORDS
    try:
        return decode_lines(content_of(path))
    except FileNotFoundError:
        return [], 0
    except OSError as reason:
        raise _unreadable(reason, path) from None
    except ValueError as reason:
        raise damaged(path, str(reason)) from None


def read_plan(folder: Path) -> Plan:
    """Plan of a run. Errors: UsageError if it is damaged or contradicts itself."""
    path = folder / PLAN
    plan = read_json(path, Plan)
    names = [spec.name for spec in plan.environments]
    for cell in plan.cells:
        if cell.environment not in names:
            raise damaged(path, f"{cell.id} is in {cell.environment}, an environment that it lacks")
    if repeated := _repeated(names) or _repeated(cell.id for cell in plan.cells):
        raise damaged(path, f"{repeated} occurs twice")
    return plan


def _repeated(names: Iterable[str]) -> str:
    """First name that occurs more than once; empty if none does."""
    return next((name for name, count in Counter(names).items() if count > 1), "")


def _unreadable(reason: OSError, path: Path) -> RefusedError:
    """Error about a file that cannot be read, with a remedy if a right is missing."""
    lacks_right = reason.errno in (errno.EACCES, errno.EPERM)
    return refused(reason, path, "read", remedy=_AS_OWNER if lacks_right else "")


def _records_of(folder: Path, plan: Plan) -> list[Record]:
    """All complete records. Errors: UsageError if one is of a cell that the plan lacks."""
    records, _ = read_records(folder)
    try:
        refuse_strangers(records, recorded_cells(plan))
    except ValueError as reason:
        raise damaged(folder / RECORDS, str(reason)) from None
    return records


def content_of(path: Path) -> bytes:
    """Content of a file of a run; does not block on a pipe in its place.

    Errors: OSError; UsageError if it is not a regular file.
    """
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        what = "folder" if stat.S_ISDIR(mode) else "pipe, socket or device"
        raise damaged(path, f"it is a {what}, not a file")
    return path.read_bytes()


def read_json(path: Path, kind: type[_Value]) -> _Value:
    """Decoded content of a file of a run. Errors: UsageError if it is missing or damaged."""
    try:
        return msgspec.json.decode(content_of(path), type=kind)
    except FileNotFoundError as reason:
        raise damaged(path, reason.strerror or "it is not there") from None
    except OSError as reason:
        raise _unreadable(reason, path) from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as reason:
        raise damaged(path, str(reason)) from None


def _summary(folder: Path) -> RunSummary | None:
    """Summary of a run; None: the folder is no run."""
    name, created, count = folder.name, 0, 0
    try:
        if not exists(folder / MANIFEST):
            return None
        manifest = read_manifest(folder)
        name, created = manifest.name, manifest.created_unix_ns
        count = len(_records_of(folder, read_plan(folder)))
        complete = is_complete(folder, count)
        note = _why_cut_short(folder) if complete else ""
    except AferirError as error:
        return RunSummary(
            folder=folder,
            name=name,
            created_unix_ns=created,
            status="unreadable" if isinstance(error, RefusedError) else "damaged",
            records=count,
            note=error.message,
        )
    return RunSummary(
        folder=folder,
        name=name,
        created_unix_ns=created,
        status="complete" if complete else "unfinished",
        records=count,
        note=note,
    )


def damaged(path: Path, reason: str) -> UsageError:
    """Error about a damaged file of a run."""
    return UsageError(
        f"{path} is damaged: {reason}",
        remedy="restore it from a copy, or move the run's folder away and run it again",
    )
