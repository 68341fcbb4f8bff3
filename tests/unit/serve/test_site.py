"""Pages over a folder of runs: their content, and that names cannot become markup."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from aferir.cli.publish import evaluate
from aferir.installed import installed
from aferir.model.provenance import Provenance
from aferir.report.write.html import html
from aferir.serve import pages
from aferir.serve.export import export
from aferir.serve.site import REPORTS, Site, report
from aferir.store import create_run, open_run
from aferir.store.run import COMPLETE, RECORDS
from tests.unit.report.published.runs import Made, cluster, native, plan, records
from tests.unit.store.many_runs import START_NS, make, write

EVIL = '<script>alert("1")<'


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served") / "runs"
    plan = make(folder, 24, shift_at=12)
    ending = {"ended_unix_ns": START_NS, "records": 10}
    (folder / "made-up-023" / COMPLETE).write_text(json.dumps(ending), encoding="utf-8")
    evil = msgspec.structs.replace(plan, title=f"{EVIL}/title>", name=EVIL)
    write(folder / EVIL, evil, started_unix_ns=START_NS, commit=EVIL)
    (folder / EVIL / RECORDS).write_bytes((folder / "made-up-000" / RECORDS).read_bytes())
    (folder / "damaged").mkdir()
    (folder / "damaged" / "run.json").write_text("{", encoding="utf-8")
    return folder


def page(runs: Path, path: str, **query: list[str]) -> str:
    answer = Site(runs, served=True).answer(path, query)
    assert answer.found, answer.content
    return answer.content.decode()


def test_the_list_shows_every_run_and_what_is_wrong_with_the_damaged_one(runs: Path) -> None:
    shown = page(runs, "")
    assert shown.count("<tr data-status") == 26
    assert shown.count('data-status="damaged"') == 1
    assert "is damaged" in shown
    assert shown == page(runs, "index.html")


@pytest.mark.parametrize("path", ["", "run/NAME/index.html", "run/NAME/report.html"])
def test_names_cannot_become_markup(runs: Path, path: str) -> None:
    shown = page(runs, path.replace("NAME", pages.address(EVIL)))
    assert "<script>alert" not in shown
    assert "&lt;script&gt;alert" in shown


def test_names_of_any_bytes_are_addresses() -> None:
    for name in (EVIL, "a b", "ä%2F", "\udcff?#&"):
        assert pages.name_of(pages.address(name)) == name
        assert "/" not in pages.address(name)


@pytest.mark.parametrize("name", ["..", ".", "", "none", "%2e%2e", "..%2f..%2fetc", "damaged%00"])
def test_nothing_but_runs_has_an_address(runs: Path, name: str) -> None:
    for file in ("index.html", "report.html", "state.json", "run.json"):
        assert not Site(runs, served=True).answer(f"run/{name}/{file}").found


def test_files_that_are_not_a_report_have_no_address(runs: Path) -> None:
    site = Site(runs, served=True)
    for file in ("run.json", "records.jsonl", "lock", "samples.csv", "../x"):
        assert not site.answer(f"run/made-up-000/{file}").found


def test_two_runs_are_compared_the_older_one_first(runs: Path) -> None:
    shown = page(runs, "compare.html", run=["made-up-020", "made-up-003"])
    assert "made-up-020 against made-up-003" in shown
    answer = Site(runs, served=True).answer("compare.html", {"run": ["made-up-020"]})
    assert not answer.found
    assert b"1 runs are chosen" in answer.content


def test_history_is_asked_for_by_figure_and_condition(runs: Path) -> None:
    assert page(runs, "history.html").count("<figure") == 2
    shown = page(runs, "history.html", by=["commit"], ratio=["1"])
    assert "commit bbbbbbbbbb" in shown
    assert "No run has the figure nothing" in page(runs, "history.html", metric=["nothing"])


def test_progress_of_an_unfinished_run_grows(runs: Path) -> None:
    site = Site(runs, served=True)
    path = runs / "made-up-005" / RECORDS
    content = path.read_bytes()
    path.write_bytes(b"".join(content.splitlines(keepends=True)[:4]))
    before = json.loads(site.answer("run/made-up-005/state.json").content)
    path.write_bytes(content)
    after = json.loads(site.answer("run/made-up-005/state.json").content)
    assert (before["text"], before["complete"]) == ("4 of 10 repetitions, 0 failed", False)
    assert after["text"] == "10 of 10 repetitions, 0 failed"
    assert "data-state" in page(runs, "run/made-up-005/index.html")
    assert "data-state" not in page(runs, "run/made-up-023/index.html")


def test_a_report_is_evaluated_once_and_few_stay_in_memory(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluated: list[str] = []

    def counted(folder: Path) -> str:
        evaluated.append(folder.name)
        return report(folder)

    monkeypatch.setattr("aferir.serve.site.report", counted)
    site = Site(runs, served=True)
    names = [f"made-up-{k:03}" for k in range(REPORTS + 1)]
    for name in [*names, names[-1], names[0]]:
        assert site.answer(f"run/{name}/report.html").found
    assert evaluated == [*names, names[0]]


def test_a_served_report_is_the_one_that_is_written(tmp_path: Path) -> None:
    """Verdicts on published figures depend on keys that only a kind has, such as `node_kind`."""
    made = [
        Made(
            spec=spec,
            program="effective-bandwidth",
            samples={"b_eff_bps": figure},
            workload="b-eff",
        )
        for spec, figure in ((native(), 2.0), (cluster(node_kind="vm"), 1.0))
    ]
    with create_run(tmp_path, plan(made, "native"), b"", Provenance(version="0")) as writer:
        for record in (one for each in made for one in records(each)):
            writer.append(record)
    run = open_run(writer.folder)
    provenance = run.reported_provenance
    written = html(evaluate(run), provenance=provenance, reference=installed("reference"))
    assert "comparable: " in written
    assert report(writer.folder) == written


@contextmanager
def ordinary_user() -> Iterator[None]:
    """Lets the operating system refuse what root may do; names must be relative meanwhile."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_what_may_not_be_read_is_said_and_leaves_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path / "runs", 3)
    tmp_path.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs/made-up-001").chmod(0)
    (tmp_path / "runs/made-up-002" / RECORDS).chmod(0)
    site = Site(Path("runs"), served=True)
    with ordinary_user():
        shown = site.answer("index.html").content.decode()
        one = site.answer("run/made-up-002/state.json")
    (tmp_path / "runs/made-up-001").chmod(0o755)
    assert shown.count("<tr data-status") == 3
    assert "made-up-000/index.html" in shown
    assert not one.found
    assert b"cannot be read" in one.content


def test_static_files_have_the_same_pages_and_no_questions(runs: Path, tmp_path: Path) -> None:
    written = export(runs, tmp_path / "site")
    assert written[0] == tmp_path / "site/index.html"
    assert len(list((tmp_path / "site/run").iterdir())) == 25
    index = written[0].read_text(encoding="utf-8")
    assert "compare.html" not in index
    one = (tmp_path / "site/run/made-up-020/index.html").read_text(encoding="utf-8")
    assert "../../compare/made-up-020.html" in one
    assert "data-state" not in one
    compared = (tmp_path / "site/compare/made-up-020.html").read_text(encoding="utf-8")
    assert "made-up-020 against made-up-019" in compared
