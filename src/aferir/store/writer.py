"""Writing one run: locked against a second writer, every record synced before the next."""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from aferir.errors import AferirError, UsageError
from aferir.linux.journal import write_durably
from aferir.model.plan import Plan
from aferir.model.provenance import Provenance
from aferir.model.record import Record
from aferir.store.lines import encode_line, key_of
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
    open_run,
    read_manifest,
    read_records,
)


class Writer:
    """The one writer of a run; use it as a context manager so that the lock is given back."""

    def __init__(self, folder: Path, lock: int) -> None:
        """Take over a locked run folder and drop what a crash tore."""
        self.folder = folder
        self._lock = lock
        records, used = read_records(folder)
        self.records = records
        self._keys = {key_of(record) for record in records}
        self._size = used
        self._handle = os.open(folder / RECORDS, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        os.ftruncate(self._handle, used)
        os.fsync(self._handle)
        _sync_folder(folder)

    def append(self, record: Record) -> None:
        """Keep a record for good: it is on the disk when this returns.

        Errors: AferirError where the disk is full, and then nothing of it is kept. A record that
        is there already, or that holds no finite number, is our own mistake: ValueError.
        """
        if key_of(record) in self._keys:
            raise ValueError(f"repetition {record.repetition} of {record.cell} is recorded already")
        line = encode_line(record)
        try:
            _write_all(self._handle, line, self._size)
            os.fsync(self._handle)
        except OSError as reason:
            os.ftruncate(self._handle, self._size)
            raise AferirError(
                f"{self.folder / RECORDS} cannot be written: {reason.strerror}",
                remedy="make room on that disk and run again: the run goes on where it stopped",
            ) from None
        self._size += len(line)
        self._keys.add(key_of(record))
        self.records.append(record)

    def write_provenance(self, provenance: Provenance) -> None:
        """Replace the conditions of the run."""
        write_durably(self.folder / PROVENANCE, _pretty(provenance))

    def finish(self) -> None:
        """Mark the run as done: it will not be resumed."""
        ending = Ending(ended_unix_ns=time.time_ns(), records=len(self.records))
        write_durably(self.folder / COMPLETE, _pretty(ending))

    def close(self) -> None:
        """Give the lock back. May be called twice."""
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

    Errors: UsageError where `runs` cannot be written.
    """
    created = time.time_ns()
    try:
        folder = _new_folder(runs, plan.name, created)
    except OSError as reason:
        raise UsageError(
            f"no run can be kept in {runs}: {reason.strerror}",
            remedy="name a folder that you may write in",
        ) from None
    lock = _take_lock(folder)
    manifest = Manifest(
        format=FORMAT,
        version=provenance.version,
        name=plan.name,
        created_unix_ns=created,
        experiment_sha256=content_hash(experiment),
    )
    write_durably(folder / PLAN, _pretty(plan))
    write_durably(folder / EXPERIMENT, experiment)
    write_durably(folder / PROVENANCE, _pretty(provenance))
    # The manifest comes last: a crash before it leaves a folder that nobody takes for a run.
    write_durably(folder / MANIFEST, _pretty(manifest))
    return Writer(folder, lock)


def continue_run(folder: Path) -> tuple[Writer, Run]:
    """Go on with an unfinished run, of which nothing but a torn last line is dropped.

    Errors: UsageError where it is complete, damaged, or being written by another process.
    """
    read_manifest(folder)
    if (folder / COMPLETE).is_file():
        raise UsageError(f"{folder} is complete", remedy="start a new run instead")
    lock = _take_lock(folder)
    try:
        return Writer(folder, lock), open_run(folder)
    except BaseException:
        with suppress(OSError):
            os.close(lock)
        raise


def content_hash(experiment: bytes) -> str:
    """Of an experiment file: the same content is the same experiment."""
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
    """flock(2) is given back by the kernel when we end, however we end."""
    handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        holder = os.pread(handle, 32, 0).decode("ascii", "replace").strip() or "unknown"
        os.close(handle)
        raise UsageError(
            f"{folder} is being written by another aferir, process {holder}",
            remedy="wait until it ends, or end it and run again",
        ) from None
    os.ftruncate(handle, 0)
    os.pwrite(handle, f"{os.getpid()}\n".encode("ascii"), 0)
    return handle


def _write_all(handle: int, content: bytes, offset: int) -> None:
    """A disk that is nearly full takes a part first and refuses the rest at the next write."""
    while content:
        written = os.pwrite(handle, content, offset)
        content, offset = content[written:], offset + written


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _pretty(value: msgspec.Struct) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"
