"""Figures of many runs: medians, ratios within a round, and what is left out."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from aferir.errors import UsageError
from aferir.model.record import Record
from aferir.store.history import RunFigure, figures
from aferir.store.run import PROVENANCE, RECORDS
from tests.unit.store.many_runs import COMMITS, START_NS, make


def records(folder: Path) -> list[Record]:
    lines = (folder / RECORDS).read_bytes().splitlines()
    return [msgspec.json.decode(line, type=Record) for line in lines]


def test_a_figure_is_the_median_of_its_run(tmp_path: Path) -> None:
    plan = make(tmp_path, 3)
    found, unread = figures(tmp_path)
    assert (len(found), unread) == (3 * len(plan.cells), ())
    one = found[0]
    own = [
        r.samples[0].value
        for r in records(tmp_path / "made-up-000")
        if r.environment == one.environment
    ]
    assert one.value == pytest.approx(np.median(own))
    assert (one.n, one.unit) == (5, "s")


def test_a_run_says_its_commit_kernel_host_and_time(tmp_path: Path) -> None:
    make(tmp_path, 1)
    conditions = figures(tmp_path)[0][0].conditions
    assert conditions.commit == COMMITS[0]
    assert conditions.kernel == "6.1.0-13"
    assert conditions.host == "node1 (Model X)"
    assert conditions.started_unix_ns == START_NS


def test_a_ratio_is_to_the_baseline_of_the_same_round(tmp_path: Path) -> None:
    plan = make(tmp_path, 1)
    (one,) = ratios(tmp_path)
    by_round: dict[int, dict[str, float]] = {}
    for record in records(tmp_path / "made-up-000"):
        by_round.setdefault(record.repetition, {})[record.environment] = record.samples[0].value
    assert one.value == pytest.approx(
        np.median([r[one.environment] / r[plan.baseline] for r in by_round.values()])
    )
    assert one.unit == ""


def ratios(folder: Path) -> tuple[RunFigure, ...]:
    return figures(folder, ratio=True)[0]


def test_failed_and_warm_up_repetitions_and_half_a_line_do_not_count(tmp_path: Path) -> None:
    make(tmp_path, 1)
    path = tmp_path / "made-up-000" / RECORDS
    first, second, *others = path.read_bytes().splitlines()
    cold = msgspec.structs.replace(msgspec.json.decode(first, type=Record), warmup=True)
    bad = msgspec.json.decode(second)
    bad["failure"] = {"code": "unverified", "message": "no"}
    lines = [msgspec.json.encode(cold), msgspec.json.encode(bad), *others]
    path.write_bytes(b"\n".join(lines) + b"\n" + first[:50])
    assert [one.n for one in figures(tmp_path)[0]] == [4, 4]


def test_a_damaged_run_is_left_out_with_its_reason(tmp_path: Path) -> None:
    make(tmp_path, 2)
    (tmp_path / "made-up-001" / PROVENANCE).write_text("{", encoding="utf-8")
    (tmp_path / "no-run").mkdir()
    found, (unread,) = figures(tmp_path)
    assert {one.conditions.run for one in found} == {"made-up-000"}
    assert unread.run == "made-up-001"
    assert "is damaged" in unread.reason


@pytest.mark.parametrize("ratio", [False, True])
def test_names_are_no_patterns_and_no_columns(tmp_path: Path, *, ratio: bool) -> None:
    """DuckDB reads `*`, `?` and `[` in names as patterns, and `cell=1` as a column's value."""
    folder = tmp_path / "all[1] of *" / "cell=1"
    make(folder, 2)
    found, _ = figures(folder, ratio=ratio)
    assert {one.conditions.run for one in found} == {"made-up-000", "made-up-001"}


def test_a_folder_without_runs_has_no_figures(tmp_path: Path) -> None:
    assert figures(tmp_path / "none") == ((), ())
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="is no folder"):
        figures(tmp_path / "file")
