"""Writes one run: locked against a second writer, every record synced before the next."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from aferir.errors import RefusedError, UsageError
from aferir.linux.journal import sync_folder, write_durably
from aferir.linux.refusal import refusals, refused
from aferir.model.plan import Plan, recorded_cells
from aferir.model.provenance import Provenance
from aferir.model.record import Record
from aferir.store.lines import encode_line, key_of, salvage
from aferir.store.run import (
    COMPLETE,
    EXPERIMENT,
    FORMAT,
    LOCK,
    MANIFEST,
    PLAN,
    PROVENANCE,
    RECORDS,
    Ending,
    Manifest,
    Run,
    content_of,
    exists,
    is_cut_short,
    open_run,
    read_manifest,
    read_plan,
    read_records,
)

_GOES_ON = "and run again: the run goes on where it stopped"


class Writer:
    """The only writer of a run; use it as a context manager so that the lock is released."""

    def __init__(self, folder: Path, lock: int) -> None:
        """Open a locked run folder and truncate a record that a crash left incomplete."""
        self.folder = folder
        self._lock = lock
        records, used = read_records(folder)
        self.records = records
        self._keys = {key_of(record) for record in records}
        self._size = used
        with refusals(folder / RECORDS, "written"):
            flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC
            self._handle = os.open(folder / RECORDS, flags, 0o666)
            os.ftruncate(self._handle, used)
            os.fsync(self._handle)
            sync_folder(folder)

    def append(self, record: Record) -> None:
        """Append a record durably: it is on the disk when this returns.

        Errors: RefusedError if the disk is full; then no part of it is stored. ValueError for a
        record that exists already or has a value that is not finite, which is an internal error.
        """
        if key_of(record) in self._keys:
            raise ValueError(f"repetition {record.repetition} of {record.cell} is recorded already")
        line = encode_line(record)
        try:
            _write_all(self._handle, line, self._size)
            os.fsync(self._handle)
        except OSError as reason:
            with suppress(OSError):  # a torn last line is dropped when the run goes on
                os.ftruncate(self._handle, self._size)
            raise going_on(refused(reason, self.folder / RECORDS, "written")) from None
        self._size += len(line)
        self._keys.add(key_of(record))
        self.records.append(record)

    def write_provenance(self, provenance: Provenance) -> None:
        """Replace the provenance of the run."""
        self._write(PROVENANCE, _pretty(provenance))

    def write_plan(self, plan: Plan) -> None:
        """Replace the plan by one that differs in nothing relevant: see `difference`."""
        self._write(PLAN, _pretty(plan))

    def finish(self) -> None:
        """Mark the run as complete, so that it is not resumed."""
        ending = Ending(ended_unix_ns=time.time_ns(), records=len(self.records))
        self._write(COMPLETE, _pretty(ending))

    def _write(self, name: str, content: bytes) -> None:
        if not exists(self.folder / LOCK):
            raise RefusedError(
                f"{self.folder} was moved or removed while it was written",
                remedy=f"what was measured went with it: move it back {_GOES_ON}",
            )
        try:
            write_durably(self.folder / name, content)
        except OSError as reason:
            raise going_on(refused(reason, self.folder / name, "written")) from None

    def close(self) -> None:
        """Release the lock. May be called twice."""
        if self._lock >= 0:
            os.close(self._handle)
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def create_run(runs: Path, plan: Plan, experiment: bytes, provenance: Provenance) -> Writer:
    """Make a new run folder, named after the experiment and the time.

    Errors: UsageError if `runs` cannot be written or is no folder; then nothing is left of it.
    """
    created = time.time_ns()
    try:
        folder = _new_folder(runs, plan.name, created)
    except OSError as reason:
        why = refused(reason, runs, "used")
        raise UsageError(
            f"no run can be kept in {runs}: {reason.strerror}", remedy=why.remedy
        ) from None
    manifest = Manifest(
        format=FORMAT,
        version=provenance.version,
        name=plan.name,
        created_unix_ns=created,
        experiment_sha256=content_hash(experiment),
    )
    # The manifest is written last: after an earlier crash the folder is not taken for a run.
    contents = {
        PLAN: _pretty(plan),
        EXPERIMENT: experiment,
        PROVENANCE: _pretty(provenance),
        MANIFEST: _pretty(manifest),
    }
    lock = -1
    try:
        with refusals(folder, "written"):
            lock = _take_lock(folder)
            for name, content in contents.items():
                write_durably(folder / name, content)
            return Writer(folder, lock)
    except BaseException:
        if lock >= 0:
            os.close(lock)
        shutil.rmtree(folder, ignore_errors=True)
        raise


def continue_run(folder: Path) -> tuple[Writer, Run, tuple[str, ...]]:
    """Open an unfinished run for writing; returns messages about damaged records too.

    A complete run that its time limit ended is unfinished from then on. An incomplete last line is
    dropped. So are lines that are damaged or have a duplicate key; their repetitions are measured
    again, and the old file is copied. Errors: UsageError if the run is complete otherwise, damaged
    otherwise, or locked by another process; RefusedError if it is not writable.
    """
    read_manifest(folder)
    if exists(folder / COMPLETE) and not is_cut_short(folder):
        raise UsageError(f"{folder} is complete", remedy="start a new run instead")
    lock = _take_lock(folder)
    try:
        with refusals(folder / COMPLETE, "removed"):
            (folder / COMPLETE).unlink(missing_ok=True)
            sync_folder(folder)
        problems = _mend(folder)
        return Writer(folder, lock), open_run(folder), problems
    except BaseException:
        with suppress(OSError):
            os.close(lock)
        raise


def _mend(folder: Path) -> tuple[str, ...]:
    """Remove damaged lines from the records; returns a message about each."""
    path = folder / RECORDS
    if not exists(path):
        return ()
    with refusals(path, "mended"):
        content = content_of(path)
        cells = recorded_cells(read_plan(folder))
        whole, problems = salvage(content, cells)
        if not problems:
            return ()
        number = 1
        while (aside := folder / f"records.damaged-{number}.jsonl").exists():
            number += 1
        write_durably(aside, content)
        write_durably(path, whole)
    return tuple(
        f"{path}, {problem}; it is measured again, see {aside.name}" for problem in problems
    )


def content_hash(experiment: bytes) -> str:
    """SHA-256 of an experiment file: equal content is the same experiment."""
    return hashlib.sha256(experiment).hexdigest()


def _new_folder(runs: Path, name: str, created_unix_ns: int) -> Path:
    stamp = datetime.fromtimestamp(created_unix_ns // 10**9, UTC).strftime("%Y%m%dT%H%M%SZ")
    runs.mkdir(parents=True, exist_ok=True)
    attempt = 1
    while True:
        folder = runs / (f"{name}-{stamp}" if attempt == 1 else f"{name}-{stamp}-{attempt}")
        try:
            folder.mkdir()
        except FileExistsError:  # another run began within the same second
            attempt += 1
        else:
            return folder


def _take_lock(folder: Path) -> int:
    """Lock the folder by flock(2), which the kernel releases when this process ends."""
    with refusals(folder / LOCK, "written"):
        handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(handle, 32, 0).decode("ascii", "replace").strip() or "unknown"
        os.close(handle)
        raise UsageError(
            f"{folder} is being written by another aferir, process {holder}",
            remedy="wait until it ends, or end it and run again",
        ) from None
    except OSError as reason:
        os.close(handle)
        raise refused(reason, folder / LOCK, "locked") from None
    with suppress(OSError):  # whose it is, for whoever finds it taken; a full disk may forget that
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode("ascii"), 0)
    return handle


def going_on(error: RefusedError) -> RefusedError:
    """Return the error with a remedy that adds that all recorded repetitions are preserved."""
    remedy = error.remedy or "mend that"
    return RefusedError(error.message, remedy=f"{remedy}, {_GOES_ON}")


def _write_all(handle: int, content: bytes, offset: int) -> None:
    """Write all bytes, in several calls if needed: a nearly full disk accepts only a part."""
    while content:
        written = os.pwrite(handle, content, offset)
        content, offset = content[written:], offset + written


def _pretty(value: msgspec.Struct) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"
