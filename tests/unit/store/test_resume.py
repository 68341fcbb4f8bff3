"""Which run `aferir run` continues, and its messages about runs that it does not."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from aferir import store
from aferir.errors import InterruptedRunError, UsageError
from aferir.model.plan import Plan
from aferir.model.provenance import Provenance
from aferir.model.record import Record, Sample
from aferir.store import choose, continue_run, create_run, is_reported, list_runs, open_run
from aferir.store.difference import carried_over, difference
from tests.unit.runner.fakes import FakeEnvironment, Watcher, carry_out, experiment, of, plan_of

CONTENT = experiment(environments=["native"])


@pytest.fixture
def plan() -> Plan:
    return plan_of(CONTENT)


def unfinished(runs: Path, plan: Plan, facts: Mapping[str, object] | None = None) -> Path:
    provenance = Provenance(version="0.1.0", facts=dict(facts or {}))
    with create_run(runs, plan, CONTENT, provenance) as writer:
        for repetition in range(3):
            writer.append(record(repetition))
    return writer.folder


def interrupted(runs: Path, *, at: int) -> None:
    """Begin a run of `CONTENT`, and press Ctrl-C in the repetition with that number."""

    def behave(_name: str, _command: object, count: int) -> str:
        if count == at:
            raise KeyboardInterrupt
        return '{"duration_s": 0.5}'

    with pytest.raises(InterruptedRunError):
        carry_out(runs, CONTENT, FakeEnvironment("native", behave=behave))


def record(repetition: int) -> Record:
    return Record(
        cell="native/a",
        group="a",
        environment="native",
        workload="a",
        repetition=repetition,
        started_unix_ns=repetition,
        samples=(Sample("duration_s", 0.5, "s"),),
    )


def with_memory(plan: Plan, change: int) -> Plan:
    environments = tuple(
        msgspec.structs.replace(spec, memory_bytes=spec.memory_bytes + change)
        for spec in plan.environments
    )
    return msgspec.structs.replace(plan, environments=environments)


def test_a_few_kilobytes_a_title_and_a_time_limit_begin_no_other_run(
    tmp_path: Path, plan: Plan
) -> None:
    folder = unfinished(tmp_path, plan)
    other = msgspec.structs.replace(with_memory(plan, -131072), title="New words", time_limit_s=9.0)
    found = choose(tmp_path, other, "0.1.0")
    assert (found.step, found.folder, found.notes) == ("continue", folder, ())
    going_on = carried_over(plan, other)
    assert (going_on.title, going_on.time_limit_s) == ("New words", 9.0)
    assert going_on.environments == plan.environments


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seed": 9}, "seed was 1 and is 9"),
        ({"warmup": 2}, "warmup was 1 and is 2"),
        ({"baseline": "vm"}, "baseline was native and is vm"),
        ({"order": "random"}, "order was interleaved and is random"),
    ],
)
def test_what_is_measured_otherwise_begins_anew_and_says_where_it_differs(
    tmp_path: Path, plan: Plan, change: Mapping[str, object], words: str
) -> None:
    folder = unfinished(tmp_path, plan)
    found = choose(tmp_path, msgspec.structs.replace(plan, **change), "0.1.0")
    assert found.step == "begin"
    (note,) = found.notes
    assert str(folder) in note
    assert words in note


def test_half_of_the_memory_is_another_experiment(tmp_path: Path, plan: Plan) -> None:
    unfinished(tmp_path, plan)
    memory = plan.environments[0].memory_bytes
    found = choose(tmp_path, with_memory(plan, -memory // 2), "0.1.0")
    assert found.step == "begin"
    assert f"environments.native.memory_bytes was {memory} and is {memory // 2}" in found.notes[0]


def test_a_workload_more_and_another_order_of_them_are_seen(plan: Plan) -> None:
    fewer = plan_of(experiment(environments=["native"], workloads={"a": ""}))
    kept = msgspec.to_builtins(plan)
    assert difference(kept, fewer) == "cells.native/b was something else and is not there"
    turned = msgspec.structs.replace(plan, cells=plan.cells[::-1])
    assert difference(kept, turned) == "the order of cells is another"
    assert difference(kept, plan) == ""


def test_another_version_or_processor_is_another_experiment(tmp_path: Path, plan: Plan) -> None:
    unfinished(tmp_path, plan, {"machine": {"cpu_model": "Xeon"}})
    assert "0.1.0 measured it, and this is 0.2.0" in choose(tmp_path, plan, "0.2.0").notes[0]
    here = {"machine": {"cpu_model": "EPYC"}}
    assert "another processor: Xeon" in choose(tmp_path, plan, "0.1.0", here).notes[0]
    same = {"machine": {"cpu_model": "Xeon", "kernel": "later"}}
    assert choose(tmp_path, plan, "0.1.7", same).step == "continue"


def test_a_comment_in_the_file_begins_no_other_run(tmp_path: Path) -> None:
    interrupted(tmp_path, at=3)
    watcher = Watcher()
    done = carry_out(tmp_path, CONTENT + b"# a word\n", watcher=watcher)
    assert watcher.notes[0] == f"going on with {done.folder}"
    assert len(list_runs(tmp_path)) == 1
    assert len(of(done, "native/a")) == 4


def test_a_damaged_line_is_measured_again_and_kept_beside(tmp_path: Path) -> None:
    interrupted(tmp_path, at=5)
    (summary,) = list_runs(tmp_path)
    path = summary.folder / "records.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    before = b"".join([lines[0], lines[0], lines[1][:20] + b"\n", *lines[2:]])
    path.write_bytes(before)
    assert list_runs(tmp_path)[0].status == "damaged"
    watcher = Watcher()
    done = carry_out(tmp_path, CONTENT, watcher=watcher)
    assert done.folder == summary.folder
    assert "line 2 repeats" in watcher.notes[1]
    assert "line 3 is damaged" in watcher.notes[2]
    assert (done.folder / "records.damaged-1.jsonl").read_bytes() == before
    assert sorted(r.repetition for r in of(done, "native/a") if not r.warmup) == [0, 1, 2]
    assert sorted(r.repetition for r in of(done, "native/b") if not r.warmup) == [0, 1, 2]


def test_a_record_of_a_cell_that_the_plan_lacks_is_damage(tmp_path: Path) -> None:
    interrupted(tmp_path, at=5)
    (summary,) = list_runs(tmp_path)
    path = summary.folder / "records.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    strange = lines[1].replace(b"native/", b"elsewhere/")
    path.write_bytes(b"".join([lines[0], strange, *lines[2:]]))
    assert list_runs(tmp_path)[0].status == "damaged"
    with pytest.raises(UsageError, match="line 2 is of elsewhere/"):
        store.open_run(summary.folder)
    watcher = Watcher()
    done = carry_out(tmp_path, CONTENT, watcher=watcher)
    assert done.folder == summary.folder
    assert "line 2 is of elsewhere/" in watcher.notes[1]
    assert {record.cell.split("/")[0] for record in done.records} == {"native"}
    assert sorted(r.repetition for r in of(done, "native/a") if not r.warmup) == [0, 1, 2]


@pytest.mark.parametrize("name", ["plan.json", "provenance.json", "run.json"])
@pytest.mark.parametrize("content", [b"", b"{", b"\0" * 4096])
def test_a_run_with_a_damaged_file_is_left_with_a_word(
    tmp_path: Path, plan: Plan, name: str, content: bytes
) -> None:
    folder = unfinished(tmp_path, plan)
    (folder / name).write_bytes(content)
    found = choose(tmp_path, plan, "0.1.0")
    assert found.step == "begin"
    assert f"{folder / name} is damaged" in found.notes[0]


def test_runs_of_other_experiments_and_superseded_ones_need_no_word(
    tmp_path: Path, plan: Plan
) -> None:
    damaged = unfinished(tmp_path, plan)
    (damaged / "plan.json").write_bytes(b"")
    unfinished(tmp_path, msgspec.structs.replace(plan, name="other"))
    assert len(choose(tmp_path, plan, "0.1.0").notes) == 1
    with create_run(tmp_path, plan, CONTENT, Provenance(version="0.1.0")) as writer:
        writer.finish()
    assert choose(tmp_path, plan, "0.1.0") == store.Choice(step="begin")


def complete(runs: Path, plan: Plan) -> Path:
    with create_run(runs, plan, CONTENT, Provenance(version="0.1.0")) as writer:
        writer.append(record(0))
        writer.finish()
    return writer.folder


def report(folder: Path, provenance: Provenance | None = None) -> None:
    """Write a file as a report does, as far as resuming depends on it."""
    told = provenance or open_run(folder).provenance
    for name in store.FORMS.values():
        (folder / name).write_bytes(b"x")
    (folder / "report.json").write_bytes(
        msgspec.json.encode({"format": 1, "evaluation": {}, "provenance": told})
    )


def test_a_complete_run_without_its_report_is_reported_and_not_measured_again(
    tmp_path: Path, plan: Plan
) -> None:
    older = complete(tmp_path, plan)
    folder = complete(tmp_path, plan)
    assert choose(tmp_path, plan, "0.1.0", reports=True).step == "report"
    assert choose(tmp_path, plan, "0.1.0", reports=True).folder == folder
    assert choose(tmp_path, plan, "0.1.0").step == "begin"
    report(folder)
    assert is_reported(folder)
    assert not is_reported(older)
    assert choose(tmp_path, plan, "0.1.0", reports=True).step == "begin"
    for name in store.FORMS.values():
        content = (folder / name).read_bytes()
        (folder / name).unlink()
        assert choose(tmp_path, plan, "0.1.0", reports=True).step == "report", name
        (folder / name).write_bytes(content)


def test_a_report_from_before_the_end_does_not_count(tmp_path: Path, plan: Plan) -> None:
    folder = complete(tmp_path, plan)
    report(folder, Provenance(version="0.1.0", images={"vm": "abc"}))
    assert choose(tmp_path, plan, "0.1.0", reports=True).step == "report"


def test_an_unfinished_run_goes_before_a_report(tmp_path: Path, plan: Plan) -> None:
    folder = unfinished(tmp_path, plan)
    complete(tmp_path, plan)
    found = choose(tmp_path, plan, "0.1.0", reports=True)
    assert (found.step, found.folder) == ("continue", folder)


@pytest.mark.parametrize("keep", [0, 1, 2])
def test_a_complete_run_with_records_missing_is_damaged(
    tmp_path: Path, plan: Plan, keep: int
) -> None:
    folder = unfinished(tmp_path, plan)
    with continue_run(folder)[0] as writer:
        writer.finish()
    path = folder / "records.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:keep]))
    (summary,) = list_runs(tmp_path)
    assert summary.status == "damaged"
    assert f"ended with 3 records, and {keep} are left" in summary.note
    with pytest.raises(UsageError, match="is damaged"):
        open_run(folder)
    found = choose(tmp_path, plan, "0.1.0", reports=True)
    assert found.step == "begin"
    assert "3 records" in found.notes[0]
    path.unlink()
    assert list_runs(tmp_path)[0].status == "damaged"


@pytest.mark.parametrize("content", [b"", b"{}", b"null"])
def test_a_mark_of_completeness_that_is_damaged_is_seen(
    tmp_path: Path, plan: Plan, content: bytes
) -> None:
    folder = complete(tmp_path, plan)
    (folder / "complete.json").write_bytes(content)
    assert list_runs(tmp_path)[0].status == "damaged"


@pytest.mark.skipif(os.geteuid() != 0, reason="root may read whatever it likes: the child is none")
def test_what_others_may_not_read_or_write_is_left_with_a_word(plan: Plan) -> None:
    with tempfile.TemporaryDirectory(prefix="aferir-test-") as name:  # where others may look
        place = Path(name)
        place.chmod(0o755)
        readable = unfinished(place / "runs", plan)
        private = unfinished(place / "runs", plan)
        private.chmod(0o700)
        locked = unfinished(place / "runs", plan)
        for path in (locked, *locked.iterdir()):
            os.chown(path, 54321, 54321)
        os.chown(locked / "lock", 0, 0)
        told = as_nobody(place / "runs", plan, place)
    assert told["step"] == ["begin"]
    notes = "\n".join(told["notes"])
    for theirs in (readable, locked):
        assert f"{theirs} is left as it is: you may not write there" in notes
    assert f"{private} is left as it is" in notes
    assert "Permission denied" in notes
    assert sorted(told["status"]) == ["unfinished", "unfinished", "unreadable"]


def as_nobody(runs: Path, plan: Plan, place: Path) -> dict[str, list[str]]:
    """Results of `choose` and `list_runs` for a user without an account."""
    answer = place / "answer.json"
    pid = os.fork()
    if pid == 0:  # pragma: no cover - a process of its own
        code = 1
        try:
            handle = os.open(answer, os.O_WRONLY | os.O_CREAT, 0o644)
            os.setgroups([])
            os.setgid(54321)
            os.setuid(54321)
            found = choose(runs, plan, "0.1.0")
            status = [each.status for each in list_runs(runs)]
            text = json.dumps({"step": [found.step], "notes": found.notes, "status": status})
            os.write(handle, text.encode())
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    told: dict[str, list[str]] = json.loads(answer.read_bytes())
    return told
