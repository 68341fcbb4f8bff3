"""A disk that refuses any write: the store names the file, and keeps what it had."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aferir.colocation.metrics import replace
from aferir.errors import AferirError
from aferir.linux import journal
from aferir.model.plan import Plan
from aferir.model.provenance import Provenance
from aferir.model.record import Record
from aferir.store import continue_run, create_run, list_runs, open_run
from aferir.store.export import export_parquet
from aferir.store.resume import choose
from tests.unit.runner.fakes import experiment, plan_of

CONTENT = experiment(environments=["native"])
FIRST = Provenance(version="0.1.0")
LATER = Provenance(version="0.1.0", images={"vm": "abc"})


@pytest.fixture
def plan() -> Plan:
    return plan_of(CONTENT)


def record(repetition: int) -> Record:
    return Record(
        cell="native/a",
        group="a",
        environment="native",
        workload="a",
        repetition=repetition,
        started_unix_ns=repetition,
    )


class Disk:
    """Refuses the n-th call that writes, and all after it."""

    def __init__(self, patch: pytest.MonkeyPatch, number: int) -> None:
        self.left = number
        self.refused = 0
        self._open = os.open
        for name in ("fsync", "pwrite", "open", "replace", "ftruncate"):
            patch.setattr(os, name, self._refusing(getattr(os, name)))

    def _refusing(self, real: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: Any, **options: Any) -> object:
            if real is self._open and not arguments[1] & os.O_CREAT:
                return real(*arguments, **options)  # reading a folder takes no room
            self.left -= 1
            if self.left < 0:
                self.refused += 1
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(*arguments, **options)

        return call


def error_of(act: Callable[[], object]) -> AferirError | None:
    try:
        act()
    except AferirError as error:
        return error
    return None


def until_it_is_not_refused(act: Callable[[], object], check: Callable[[], None]) -> int:
    """Refuse each call in turn as the first one; return their number."""
    for number in range(200):
        with pytest.MonkeyPatch.context() as patch:
            disk = Disk(patch, number)
            error = error_of(act)
        assert error is None or "No space left on device" in error.message
        assert error is None or "room" in error.remedy
        check()
        if disk.refused == 0:
            return number
    pytest.fail("it is refused for ever")


def test_a_run_that_cannot_be_made_whole_leaves_nothing(tmp_path: Path, plan: Plan) -> None:
    made: list[Path] = []

    def act() -> None:
        with create_run(tmp_path, plan, CONTENT, FIRST) as writer:
            made.append(writer.folder)

    def check() -> None:
        assert [path for path in tmp_path.iterdir() if path not in made] == []

    assert until_it_is_not_refused(act, check) > 10
    assert made


def test_records_and_conditions_stay_whole(tmp_path: Path, plan: Plan) -> None:
    with create_run(tmp_path, plan, CONTENT, FIRST) as writer:
        writer.append(record(0))
    folder = writer.folder

    def act() -> None:
        with continue_run(folder)[0] as writer:
            writer.write_provenance(LATER)
            writer.append(record(1))
            writer.finish()

    def check() -> None:
        run = open_run(folder)
        assert run.records[0] == record(0)
        assert run.records[1:] in ((), (record(1),))
        assert run.provenance in (FIRST, LATER)
        assert list_runs(tmp_path)[0].status == ("complete" if run.complete else "unfinished")
        if run.records[1:]:  # once it is kept, it may not be appended again
            (folder / "records.jsonl").write_bytes(
                (folder / "records.jsonl").read_bytes().splitlines(keepends=True)[0]
            )
            (folder / "complete.json").unlink(missing_ok=True)

    assert until_it_is_not_refused(act, check) > 5


def test_the_journal_names_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path / "state"))

    def check() -> None:
        assert not list(tmp_path.glob("state/journal/.writing-*"))

    def act() -> None:
        journal.erase(journal.write("container", {}))

    assert until_it_is_not_refused(act, check) > 2


def test_what_a_killed_writer_has_left_is_swept(tmp_path: Path) -> None:
    dead = tmp_path / ".writing-999999999-abcdef01"
    dead.write_bytes(b"half")
    mine = tmp_path / journal.unique(".writing-")
    mine.write_bytes(b"half")
    other = tmp_path / ".writing-by-somebody"
    other.write_bytes(b"")
    journal.write_durably(tmp_path / "file", b"whole")
    assert {*tmp_path.iterdir()} == {mine, other, tmp_path / "file"}


@pytest.mark.parametrize("mask", [0o022, 0o027, 0o077, 0o002])
def test_all_files_of_a_run_are_as_the_umask_wants_them(
    tmp_path: Path, plan: Plan, mask: int
) -> None:
    before = os.umask(mask)
    try:
        with create_run(tmp_path / "runs", plan, CONTENT, FIRST) as writer:
            writer.append(record(0))
            writer.finish()
    finally:
        os.umask(before)
    modes = {path.stat().st_mode & 0o777 for path in writer.folder.iterdir()}
    assert modes == {0o666 & ~mask}
    assert writer.folder.stat().st_mode & 0o777 == 0o777 & ~mask


def test_a_parquet_file_that_cannot_be_written_whole_leaves_the_old_one(
    tmp_path: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    with create_run(tmp_path / "runs", plan, CONTENT, FIRST) as writer:
        writer.append(record(0))
    run = open_run(writer.folder)
    target = tmp_path / "all.parquet"
    export_parquet([run], target)
    before = target.read_bytes()

    def full(_self: Path, _target: Path) -> Path:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(AferirError, match="No space left"):
        export_parquet([run], target)
    assert target.read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {"runs", "all.parquet"}


def test_a_device_or_a_pipe_is_not_replaced_by_a_file(tmp_path: Path, plan: Plan) -> None:
    with create_run(tmp_path / "runs", plan, CONTENT, FIRST) as writer:
        writer.append(record(0))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(AferirError, match="a device, pipe or socket"):
        export_parquet([open_run(writer.folder)], pipe)
    for write in (journal.write_durably, lambda path, text: replace(path, text.decode())):
        with pytest.raises(FileExistsError):
            write(pipe, b"x")
    assert pipe.is_fifo()
    assert {path.name for path in tmp_path.iterdir()} == {"runs", "pipe"}


@pytest.mark.parametrize("name", ["run.json", "records.jsonl", "complete.json", "plan.json"])
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_file_is_damage_and_nobody_waits_for_it(
    tmp_path: Path, plan: Plan, name: str, make: Callable[[Path], None]
) -> None:
    with create_run(tmp_path, plan, CONTENT, FIRST) as writer:
        writer.append(record(0))
        writer.finish()
    (writer.folder / name).unlink()
    make(writer.folder / name)
    error = error_of(lambda: open_run(writer.folder))
    assert error is not None
    assert error.exit_code == 2
    assert f"{writer.folder / name} is damaged: it is a" in error.message
    summaries = list_runs(tmp_path)
    assert [summary.status for summary in summaries] == ["damaged"]
    assert choose(tmp_path, plan, FIRST.version).step == "begin"


def test_a_run_whose_folder_is_moved_meanwhile_is_not_ended_elsewhere(
    tmp_path: Path, plan: Plan
) -> None:
    with create_run(tmp_path / "runs", plan, CONTENT, FIRST) as writer:
        writer.append(record(0))
        (tmp_path / "runs").rename(tmp_path / "moved")
        writer.append(record(1))
        for act in (writer.finish, lambda: writer.write_provenance(LATER)):
            error = error_of(act)
            assert error is not None
            assert error.exit_code == 3
            assert f"{writer.folder} was moved or removed" in error.message
    assert not (tmp_path / "runs").exists()
    (run,) = list_runs(tmp_path / "moved")
    assert (run.status, run.records) == ("unfinished", 2)
