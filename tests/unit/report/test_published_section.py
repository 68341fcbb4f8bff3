from __future__ import annotations

from typing import Any

import msgspec

from aferir.machine import describe
from aferir.machine.facts import collect
from aferir.model.provenance import Provenance
from aferir.report.analyse import analyse
from aferir.report.write.html import html
from aferir.report.write.json import Export, document
from aferir.report.write.markdown import markdown
from tests.checkout import ROOT
from tests.unit.report.published import made, made_clusters

REFERENCE = ROOT / "reference"


def test_all_forms_have_each_published_row_with_its_verdict() -> None:
    run = made.read_costs()
    page, text = html(run, reference=REFERENCE), markdown(run, reference=REFERENCE)
    assert "## Published results" in text
    for shown in (page, text):
        assert "one reading of RVEC, added to a loop of 5,000 additions" in shown
        assert "420 ns ± 3.12 ns" in shown
        assert "comparable: 0.100 times" in shown
    export = msgspec.json.decode(document(run, reference=REFERENCE), type=Export)
    (table,) = export.published
    assert table.name == "clock_read_cost"
    assert [row.verdict for row in table.rows] == ["comparable"] * 3


def test_processors_are_those_of_the_run(provenance: Provenance) -> None:
    """Rows of clusters are matched by processes for each processor."""
    run = made_clusters.concurrent()
    assert "comparable: +4" not in markdown(run, reference=REFERENCE)
    facts = describe(msgspec.structs.replace(collect(), cpus=2), installed=False)
    two = msgspec.structs.replace(provenance, facts=facts)
    assert "comparable: +4" in markdown(run, provenance=two, reference=REFERENCE)
    elsewhere = msgspec.structs.replace(provenance, facts=facts | {"hosts": {"node1": facts}})
    assert "comparable: +4" not in markdown(run, provenance=elsewhere, reference=REFERENCE)


def test_emulated_guests_and_other_programs_claim_nothing(made_up: Any) -> None:
    text = markdown(analyse(made_up.plan(), made_up.records()), reference=REFERENCE)
    published = text.partition("## Published results")[2].partition("\n## ")[0]
    assert "PARPAC" not in published
    assert "not comparable: emulated in software here" in published
    assert "| comparable" not in published


def test_published_allocations_are_drawn_beside(made_up: Any) -> None:
    page = html(analyse(made_up.plan(), made_up.records()), reference=REFERENCE)
    assert "10.7 s ± 1.44 s (sd) · n = 20" in page
    assert "Dutra 2015, Table 5.5" in page


def test_without_published_files_there_is_no_section(made_up: Any) -> None:
    assert "Published results" not in html(analyse(made_up.plan(), made_up.records()))
