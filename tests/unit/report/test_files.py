from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import pytest

from aferir.model.provenance import Provenance
from aferir.model.record import Failure
from aferir.report.analyse import analyse
from aferir.report.overview import overview
from aferir.report.write.csv import write_samples_csv, write_summary_csv
from aferir.report.write.html import html, write_html
from aferir.report.write.json import Export, write_json
from aferir.report.write.markdown import markdown, write_markdown
from tests.checkout import ROOT

REFERENCE = ROOT / "reference"
NASTY = '<script>alert(1)</script> $x_1$ & "q" | `c`'


def svgs(page: str) -> list[ET.Element]:
    """The pictures; the marks in tables are no pictures."""
    found = re.findall(r"<figure>(<svg .*?</svg>)", page, flags=re.DOTALL)
    return [ET.fromstring(svg) for svg in found]  # noqa: S314 - our own output


def test_the_page_needs_nothing_else(made_up: Any, provenance: Provenance, tmp_path: Path) -> None:
    evaluation = analyse(made_up.plan(), made_up.records())
    write_html(tmp_path / "r.html", evaluation, provenance=provenance, reference=REFERENCE)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "<link" not in page
    assert "<img" not in page
    assert not re.search(r"url\((?!#)", page)
    assert not re.search(r'(?:href|src)="(?!#)', page)
    assert svgs(page)


def test_the_first_screen_holds_the_verdict(made_up: Any, provenance: Provenance) -> None:
    evaluation = analyse(made_up.plan(), made_up.records())
    page = html(evaluation, provenance=provenance)
    places = [
        page.index(text) for text in ("takes longer than", "Ranking", "<figure", "Durations<")
    ]
    assert places == sorted(places)
    assert page.index("Provenance") > places[-1]
    assert "left out</strong>: environment cloud" in page
    assert "Intel Xeon" in page


def test_charts_speak_to_those_who_do_not_see_them(made_up: Any) -> None:
    page = html(analyse(made_up.plan(), made_up.records()))
    ids: list[str] = []
    for svg in svgs(page):
        assert svg.attrib["role"] == "img"
        children = [child.tag.rpartition("}")[2] for child in svg]
        assert children[:2] == ["title", "desc"]
        assert svg[1].text
        ids += [e.attrib["id"] for e in svg.iter() if "id" in e.attrib]
    assert len(ids) == len(set(ids))


def test_every_colour_of_a_chart_is_the_pages(made_up: Any) -> None:
    """A colour that is fixed would be wrong on either a light or a dark page."""
    page = html(analyse(made_up.plan(), made_up.records()))
    style = page[page.index("<style>") : page.index("</style>")]
    for svg in re.findall(r"<svg .*?</svg>", page, flags=re.DOTALL):
        assert not re.search(r"(?:fill|stroke): ?#[0-9a-f]{3}", svg)
        for used in re.findall(r"var\((--[a-z0-9-]+)\)", svg):
            assert f"{used}:" in style
        for used in {
            name for names in re.findall(r'class="([^"]+)"', svg) for name in names.split()
        }:
            assert f".{used}" in style, used


def test_emulation_shows_in_every_table_and_chart(made_up: Any) -> None:
    evaluation = analyse(made_up.plan(), made_up.records())
    page = html(evaluation)
    for svg in svgs(page):
        text = " ".join(svg.itertext())
        assert "vm (emulated)" in text
        hatched = sum(
            "fill:url(#" in e.attrib.get("style", "").replace(" ", "") for e in svg.iter()
        )
        in_legend = "emulated in software" in text
        assert hatched > in_legend, "nothing but the legend is hatched"
    rows = re.findall(r"<tr>.*?</tr>", page, flags=re.DOTALL)
    of_vm = [row for row in rows if "</svg>vm" in row]
    assert of_vm
    assert all("emulated</span>" in row for row in of_vm)
    assert not any("slower" in row for row in of_vm), "an emulator's speed is no verdict"
    assert sum("no verdict" in row for row in of_vm) == 3
    assert "| vm |" not in markdown(evaluation)


def test_names_from_files_are_escaped(made_up: Any, provenance: Provenance) -> None:
    nasty = made_up.with_(title=NASTY)
    plan, records = nasty.plan(), nasty.records()
    old = "container/cg/threads=2"
    plan = msgspec.structs.replace(
        plan,
        cells=tuple(
            msgspec.structs.replace(c, group=NASTY) if c.group == "cg/threads=2" else c
            for c in plan.cells
        ),
    )
    records = [
        msgspec.structs.replace(r, samples=(), failure=Failure(NASTY, NASTY))
        if r.cell == old
        else r
        for r in records
    ]
    provenance = msgspec.structs.replace(provenance, facts={NASTY: [NASTY, {NASTY: NASTY}]})
    evaluation = analyse(plan, records)
    page = html(evaluation, provenance=provenance, reference=REFERENCE)
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    drawn = [e.text or "" for svg in svgs(page) for e in svg.iter() if e.tag.endswith("}text")]
    assert any("$x_1$" in text for text in drawn), "a dollar sign became a formula"
    assert len(svgs(page)) == len(svgs(html(analyse(made_up.plan(), made_up.records()))))
    text = markdown(evaluation, provenance=provenance)
    assert "<script" not in text
    tables = re.findall(r"(?:^\|.*\|\n)+", text, flags=re.MULTILINE)
    assert any("alert" in table for table in tables)
    for table in tables:
        assert len({re.sub(r"\\\|", "", line).count("|") for line in table.splitlines()}) == 1


@pytest.mark.parametrize("changes", [{"environments": ("native",)}, {"repetitions": 1}, {}])
def test_thin_runs_still_make_a_page(
    made_up: Any, changes: dict[str, Any], failure: Failure
) -> None:
    run = made_up.with_(workloads=("ep",), **changes)
    plan, records = run.plan(), run.records()
    failed = [
        msgspec.structs.replace(r, samples=(), failure=failure)
        if r.environment != "vm" and r.workload != "allocation"
        else r
        for r in records
    ]
    for some in (records, [], failed, [r for r in records if r.environment != "native"]):
        evaluation = analyse(plan, some)
        page = html(evaluation, reference=REFERENCE)
        assert "</html>" in page
        assert all(svgs(page))
        assert markdown(evaluation).startswith("# ")


def test_an_empty_run_says_so(made_up: Any) -> None:
    alone = made_up.with_(environments=("native",))
    assert "no repetition has finished" in html(analyse(alone.plan(), []))
    page = html(analyse(alone.plan(), alone.records()))
    assert "results of one environment only" in page


def test_the_same_run_gives_the_same_page(made_up: Any) -> None:
    evaluation = analyse(made_up.plan(), made_up.records())
    assert html(evaluation) == html(evaluation)


def test_failures_are_on_the_page(made_up: Any, failure: Failure) -> None:
    records = [
        msgspec.structs.replace(r, samples=(), failure=failure)
        if r.cell == "container/ep/threads=2"
        else r
        for r in made_up.records()
    ]
    evaluation = analyse(made_up.plan(), records)
    for text in (html(evaluation), markdown(evaluation)):
        assert "unverified" in text
        assert "no result" in text
        assert "do not trust it" in text


def test_csv_figures_are_those_of_the_evaluation(made_up: Any, tmp_path: Path) -> None:
    records = made_up.records()
    evaluation = analyse(made_up.plan(), records)
    write_summary_csv(tmp_path / "summary.csv", evaluation)
    with (tmp_path / "summary.csv").open(encoding="utf-8", newline="") as stream:
        rows = {(r["cell"], r["metric"], r["side"]): r for r in csv.DictReader(stream)}
    for cell in evaluation.cells:
        row = rows[cell.cell, "duration_s", "program"]
        assert cell.duration.mean_interval is not None
        assert int(row["n"]) == cell.duration.n
        assert float(row["mean"]) == cell.duration.mean
        assert float(row["mean_high"]) == cell.duration.mean_interval.high
        assert row["emulated"] == ("true" if cell.environment == "vm" else "false")
        if cell.ratio is not None and cell.verdict is not None:
            assert float(row["ratio"]) == cell.ratio.estimate
            assert float(row["p_adjusted"]) == cell.verdict.p_adjusted
            assert row["outcome"] == cell.verdict.outcome
        else:
            assert row["ratio"] == ""
    total = rows["vm/allocation", "total_s", "environment"]
    assert float(total["median"]) == evaluation.allocations[2].total.median
    assert "throughput_mops" in {metric for _, metric, _ in rows}


def test_csv_samples_are_those_of_the_records(
    made_up: Any, failure: Failure, tmp_path: Path
) -> None:
    records = made_up.records()
    records[20] = msgspec.structs.replace(records[20], samples=(), failure=failure)
    write_samples_csv(tmp_path / "samples.csv", records)
    with (tmp_path / "samples.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    flat = [(r, s) for r in records for s in r.samples]
    with_value = [row for row in rows if row["value"]]
    assert [float(row["value"]) for row in with_value] == [s.value for _, s in flat]
    assert [row["warmup"] for row in with_value] == [str(r.warmup).lower() for r, _ in flat]
    without = [row for row in rows if not row["value"]]
    assert [row["failure"] for row in without] == ["unverified"]


def test_json_reads_back_as_the_same_evaluation(
    made_up: Any, provenance: Provenance, tmp_path: Path
) -> None:
    evaluation = analyse(made_up.plan(), made_up.records())
    write_json(tmp_path / "r.json", evaluation, provenance=provenance)
    export = msgspec.json.decode((tmp_path / "r.json").read_bytes(), type=Export)
    assert export.evaluation == evaluation
    assert export.overview == overview(evaluation)
    assert export.provenance == provenance
    assert export.format == 1


def test_markdown_is_written(made_up: Any, provenance: Provenance, tmp_path: Path) -> None:
    evaluation = analyse(made_up.plan(), made_up.records())
    write_markdown(tmp_path / "r.md", evaluation, provenance=provenance)
    text = (tmp_path / "r.md").read_text(encoding="utf-8")
    assert text.startswith("# NPB on this machine\n")
    for line in text.splitlines():
        assert line == line.rstrip()
    assert "**time-limit**" in text
