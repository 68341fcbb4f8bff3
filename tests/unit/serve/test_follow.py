"""Progress of a run: each line is read once, and an incomplete line not at all."""

from __future__ import annotations

from pathlib import Path

from aferir.serve.follow import Counted, Progress, follow, state
from aferir.store.run import RECORDS
from tests.unit.store.many_runs import make


def test_lines_are_counted_as_they_are_completed(tmp_path: Path) -> None:
    plan = make(tmp_path, 1)
    folder = tmp_path / "made-up-000"
    lines = (folder / RECORDS).read_bytes().splitlines(keepends=True)
    (folder / RECORDS).write_bytes(lines[0] + lines[1][:20])
    first = follow(folder, Progress())
    assert (first.records, first.read_bytes) == (1, len(lines[0]))
    (folder / RECORDS).write_bytes(b"".join(lines))
    whole = follow(folder, first)
    assert whole == follow(folder, Progress())
    assert set(whole.cells.values()) == {Counted(5, 0)}
    assert follow(folder, whole) == whole
    shown = state(plan, whole, complete=False)
    assert shown.text == "10 of 10 repetitions, 0 failed"


def test_failures_and_warm_ups_are_told_apart_and_damage_is_survived(tmp_path: Path) -> None:
    make(tmp_path, 1)
    path = tmp_path / "made-up-000" / RECORDS
    path.write_bytes(
        b'{"cell":"a","failure":{"code":"x","message":"y"}}\n{"cell":"a","warmup":true}\nhalf\n'
    )
    assert follow(path.parent, Progress()).cells == {"a": Counted(1, 1)}


def test_a_file_that_shrank_is_read_anew(tmp_path: Path) -> None:
    make(tmp_path, 1)
    folder = tmp_path / "made-up-000"
    before = follow(folder, Progress())
    (folder / RECORDS).write_bytes(b'{"cell":"a"}\n')
    assert follow(folder, before).cells == {"a": Counted(1, 0)}
    (folder / RECORDS).unlink()
    assert follow(folder, before) == Progress()
