"""Run folders that an earlier version wrote can be reported.

`fixtures/run-format-N` was written through the store of the version that introduced format N,
`fixtures/report-format-N` through its report; they are never written again. They have two programs
in three environments, one of them emulated, with a failed repetition, series, allocations, and an
environment that was left out.
"""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import msgspec
import pytest

from aferir.cli import main
from aferir.report.write.json import Export
from aferir.store import list_runs, open_run
from aferir.store.run import FORMAT

FIXTURES = Path(__file__).parent / "fixtures"


@pytest.fixture(params=sorted(path.name for path in FIXTURES.glob("run-format-*")))
def run_folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return Path(shutil.copytree(FIXTURES / request.param, tmp_path / request.param))


def test_each_format_that_can_be_read_is_kept_here() -> None:
    kept = {int(path.name.rpartition("-")[2]) for path in FIXTURES.glob("run-format-*")}
    assert kept == set(range(1, FORMAT + 1))


def test_it_is_listed_as_complete_and_its_records_are_all_read(run_folder: Path) -> None:
    (summary,) = list_runs(run_folder.parent)
    assert (summary.status, summary.records) == ("complete", 40)
    run = open_run(run_folder)
    assert {spec.kind for spec in run.plan.environments} == {"native", "container", "vm"}
    assert len(run.records) == 40


def test_it_is_reported_in_every_form(run_folder: Path, tmp_path: Path) -> None:
    parquet = tmp_path / "samples.parquet"
    assert main(["report", str(run_folder), "--parquet", str(parquet)]) == 0

    page = (run_folder / "report.html").read_text(encoding="utf-8")
    text = (run_folder / "report.md").read_text(encoding="utf-8")
    for form in (page, text):
        assert "Two programs in three environments" in form
        assert "unverified" in form
        assert "no OpenStack here" in form
    assert "Intel Xeon" in page
    export = msgspec.json.decode((run_folder / "report.json").read_bytes(), type=Export)
    assert [cell.duration.n for cell in export.evaluation.cells] == [6, 5, 2, 6, 6, 2]
    assert export.evaluation.curves
    with (run_folder / "summary.csv").open(encoding="utf-8", newline="") as stream:
        metrics = {row["metric"] for row in csv.DictReader(stream)}
    assert {"duration_s", "throughput_mops", "context_switches", "booted_s"} <= metrics
    with (run_folder / "samples.csv").open(encoding="utf-8", newline="") as stream:
        failures = [row["failure"] for row in csv.DictReader(stream) if row["failure"]]
    assert failures == ["unverified"]
    assert parquet.stat().st_size > 0
