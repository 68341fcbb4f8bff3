"""Run folders: durable, locked, resumable, and readable whatever a crash left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aferir.config import parse
from aferir.errors import AferirError, UsageError
from aferir.model.plan import HostLimits, Plan
from aferir.model.provenance import Provenance
from aferir.model.record import Failure, Record, Sample, Series, Warning
from aferir.registry import all_programs, kinds
from aferir.store import (
    Choice,
    Writer,
    choose,
    continue_run,
    create_run,
    list_runs,
    open_run,
)
from aferir.store.export import COLUMNS, export_parquet, query
from aferir.store.lines import decode_lines, encode_line
from aferir.store.resume import compatible

EXPERIMENT = b"""
[experiment]
name = "e"
[[environment]]
name = "native"
kind = "native"
[[workload]]
name = "ep"
program = "npb"
kernel = "ep"
class = "S"
"""
PROVENANCE = Provenance(version="0.1.0", facts={"kernel": "6.1"})


@pytest.fixture(scope="module")
def plan() -> Plan:
    return parse(EXPERIMENT, HostLimits(cpus=(0,), memory_bytes=2**32), all_programs(), kinds())


def record(repetition: int, *, cell: str = "native/ep", warmup: bool = False) -> Record:
    return Record(
        cell=cell,
        group="ep",
        environment="native",
        workload="ep",
        factors={"threads": 2, "share": 0.5, "on": True, "kernel": "é\n\u2028"},
        repetition=repetition,
        warmup=warmup,
        started_unix_ns=10**18 + repetition,
        command=("/opt/npb-ep", "--class", "S"),
        samples=(Sample("duration_s", 0.1 * repetition + 0.01, "s"),),
        warnings=(Warning("emulated", "slow", "use a real one"),),
    )


def new(runs: Path, plan: Plan) -> Writer:
    return create_run(runs, plan, EXPERIMENT, PROVENANCE)


def test_fields_that_only_a_kind_has_are_read(tmp_path: Path) -> None:
    written = EXPERIMENT.replace(b'kind = "native"', b'kind = "native"\ndisk = "1 GiB"')
    host = HostLimits(cpus=(0,), memory_bytes=2**32)
    with new(tmp_path, parse(written, host, all_programs(), kinds())) as writer:
        found = open_run(writer.folder)
    assert found.specifications["native"]["disk_bytes"] == 2**30
    assert "name" not in found.specifications["native"]


def test_what_is_written_is_read(tmp_path: Path, plan: Plan) -> None:
    with new(tmp_path, plan) as writer:
        for repetition in range(3):
            writer.append(record(repetition))
        writer.append(record(0, warmup=True))
        writer.write_provenance(msgspec.structs.replace(PROVENANCE, images={"vm": "abc"}))
        folder = writer.folder
        assert not open_run(folder).complete
        writer.finish()
    run = open_run(folder)
    assert run.records == (record(0), record(1), record(2), record(0, warmup=True))
    assert json.loads((folder / "plan.json").read_bytes()) == msgspec.json.decode(
        msgspec.json.encode(plan)
    )
    assert run.plan.cells == plan.cells
    assert [(one.name, one.kind) for one in run.plan.environments] == [("native", "native")]
    assert run.provenance.images == {"vm": "abc"}
    assert run.complete
    assert (folder / "experiment.toml").read_bytes() == EXPERIMENT


def test_a_repetition_is_recorded_once(tmp_path: Path, plan: Plan) -> None:
    with new(tmp_path, plan) as writer:
        writer.append(record(1))
        with pytest.raises(ValueError, match="recorded already"):
            writer.append(record(1))
        writer.append(record(1, warmup=True))
    with continue_run(writer.folder)[0] as writer, pytest.raises(ValueError, match="already"):
        writer.append(record(1))


def test_a_sample_that_is_no_number_is_not_kept(tmp_path: Path, plan: Plan) -> None:
    bad = msgspec.structs.replace(record(1), samples=(Sample("x_s", float("nan"), "s"),))
    with new(tmp_path, plan) as writer, pytest.raises(ValueError, match="x_s"):
        writer.append(bad)
    assert open_run(writer.folder).records == ()


def test_a_torn_line_is_dropped_and_the_rest_kept(tmp_path: Path, plan: Plan) -> None:
    with new(tmp_path, plan) as writer:
        writer.append(record(0))
        writer.append(record(1))
    path = writer.folder / "records.jsonl"
    whole = path.read_bytes()
    start = whole.index(b"\n") + 1
    for cut in {*range(start, len(whole), 7), len(whole) - 1}:
        path.write_bytes(whole[:cut])
        assert open_run(writer.folder).records == (record(0),), cut
        with continue_run(writer.folder)[0] as again:
            assert path.read_bytes() == whole[:start], cut
            again.append(record(1))
        assert path.read_bytes() == whole, cut


@given(junk=st.binary(max_size=60))
def test_any_tail_is_dropped(junk: bytes) -> None:
    whole = encode_line(record(0)) + encode_line(record(1))
    if b"\n" in junk[:-1]:
        return
    records, used = decode_lines(whole + junk)
    assert records == [record(0), record(1)]
    assert used == len(whole)


def test_damage_before_the_last_line_is_named(tmp_path: Path, plan: Plan) -> None:
    with new(tmp_path, plan) as writer:
        for repetition in range(3):
            writer.append(record(repetition))
    path = writer.folder / "records.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    for broken in ([lines[0], b'{"cell":1}\n', lines[2]], [lines[0], b"\0\0\n", lines[2]]):
        path.write_bytes(b"".join(broken))
        with pytest.raises(UsageError, match="line 2 is damaged") as caught:
            open_run(writer.folder)
        assert caught.value.remedy
    path.write_bytes(b"".join([lines[0], lines[0], lines[1]]))
    with pytest.raises(UsageError, match="line 2 repeats repetition 0"):
        open_run(writer.folder)
    assert list_runs(tmp_path)[0].status == "damaged"


def test_two_processes_never_write_one_run(tmp_path: Path, plan: Plan) -> None:
    with new(tmp_path, plan) as writer:
        with pytest.raises(UsageError, match=f"process {os.getpid()}"):
            continue_run(writer.folder)
        script = (
            "import sys; from pathlib import Path; from aferir.store import continue_run\n"
            "continue_run(Path(sys.argv[1]))"
        )
        child = subprocess.run(
            [sys.executable, "-c", script, str(writer.folder)],
            check=False,
            capture_output=True,
            text=True,
        )
        assert "is being written by another aferir" in child.stderr
    continue_run(writer.folder)[0].close()


def test_versions_that_measure_alike() -> None:
    assert compatible("1.2.3", "1.9")
    assert not compatible("1.2.3", "2.0.0")
    assert not compatible("0.1.0", "0.2.0")


def test_foreign_and_damaged_folders(tmp_path: Path, plan: Plan) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "note.txt").write_text("x")
    assert list_runs(tmp_path) == []
    assert list_runs(tmp_path / "absent") == []
    with pytest.raises(UsageError, match="is no folder"):
        list_runs(tmp_path / "note.txt")
    for path in (tmp_path / "mine", tmp_path / "note.txt", tmp_path / "absent"):
        with pytest.raises(UsageError, match="is no"):
            open_run(path)
    with new(tmp_path, plan) as writer:
        writer.append(record(0))
    for name in ("plan.json", "provenance.json", "run.json"):
        path = writer.folder / name
        content = path.read_bytes()
        for bad in (b"", b"{", b"[]", b'{"name": "\xff"}', b"[" * 20000):
            path.write_bytes(bad)
            with pytest.raises(UsageError, match="is damaged"):
                open_run(writer.folder)
        path.write_bytes(content)
    manifest = writer.folder / "run.json"
    manifest.write_bytes(manifest.read_bytes().replace(b'"format": 1', b'"format": 2'))
    with pytest.raises(UsageError, match="later form"):
        open_run(writer.folder)
    (writer.folder / "records.jsonl").unlink()
    (writer.folder / "records.jsonl").mkdir()
    assert list_runs(tmp_path)[0].status == "damaged"


def test_a_folder_that_was_not_made_to_its_end_is_no_run(tmp_path: Path, plan: Plan) -> None:
    with new(tmp_path, plan) as writer:
        pass
    (writer.folder / "run.json").unlink()
    assert list_runs(tmp_path) == []
    assert choose(tmp_path, plan, "0.1.0") == Choice(step="begin")


def test_a_place_that_takes_no_runs(tmp_path: Path, plan: Plan) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="no run can be kept"):
        new(tmp_path / "file" / "runs", plan)


def test_a_full_disk_keeps_what_was_recorded(
    tmp_path: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.pwrite

    def nearly_full(handle: int, content: bytes, offset: int) -> int:
        if len(content) < 50:
            raise OSError(28, "No space left on device")
        return real(handle, content[: len(content) // 2], offset)

    with new(tmp_path, plan) as writer:
        writer.append(record(0))
        with monkeypatch.context() as patch:
            patch.setattr(os, "pwrite", nearly_full)
            with pytest.raises(AferirError, match="No space left"):
                writer.append(record(1))
        assert open_run(writer.folder).records == (record(0),)
        writer.append(record(1))
    assert open_run(writer.folder).records == (record(0), record(1))


def test_samples_become_one_tidy_table(tmp_path: Path, plan: Plan) -> None:
    failed = msgspec.structs.replace(
        record(2), samples=(), failure=Failure("unverified", "it is wrong")
    )
    with new(tmp_path, plan) as writer:
        for each in (record(0), record(1), failed):
            writer.append(each)
    run = open_run(writer.folder)
    target = tmp_path / "it's.parquet"
    assert export_parquet([run, run], target) == 6
    table = duckdb.read_parquet(str(target))
    assert tuple(table.columns) == tuple(COLUMNS)
    assert len(table.fetchall()) == 6
    columns, rows = query("SELECT count(*), sum(value), max(failure) FROM samples", [run])
    assert len(columns) == 3
    assert rows == [(3, pytest.approx(0.12), "unverified")]
    assert query("SELECT * FROM samples", [])[1] == []
    with pytest.raises(UsageError, match="cannot be answered") as caught:
        query("SELECT nothing FROM samples", [run])
    assert "metric" in caught.value.remedy
    with pytest.raises(UsageError, match="cannot be written"):
        export_parquet([run], tmp_path / "absent" / "x.parquet")


def test_values_of_a_series_become_rows_with_their_place(tmp_path: Path, plan: Plan) -> None:
    numbers = Series(metric="latency_s", unit="s", values=(1, 3), along="size", at=(8.0, 64.0))
    words = Series(metric="cost_s", unit="s", values=(5,), along="clock", at=("rvec",), label="a")
    with new(tmp_path, plan) as writer:
        writer.append(msgspec.structs.replace(record(0), samples=(), series=(numbers, words)))
    run = open_run(writer.folder)
    sql = 'SELECT along, "at", category, label, value FROM samples ORDER BY value'
    assert query(sql, [run])[1] == [
        ("size", 8.0, None, "", 1.0),
        ("size", 64.0, None, "", 3.0),
        ("clock", None, "rvec", "a", 5.0),
    ]


names = st.text(min_size=1, max_size=12)
finite = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=60)
@given(
    st.builds(
        Record,
        cell=names,
        group=names,
        environment=names,
        workload=names,
        factors=st.dictionaries(
            names,
            st.booleans() | st.integers(-(2**53), 2**53) | finite | names,
        ),
        repetition=st.integers(0, 1000),
        warmup=st.booleans(),
        started_unix_ns=st.integers(0, 2**62),
        command=st.lists(names).map(tuple),
        samples=st.lists(st.builds(Sample, names, finite, names)).map(tuple),
        failure=st.none() | st.builds(Failure, names, names),
    )
)
def test_any_record_round_trips(made: Record) -> None:
    assert decode_lines(encode_line(made))[0] == [made]
