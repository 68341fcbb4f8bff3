"""Every section of the page, without counting them: a new one needs no change here."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import Any

import pytest

from aferir.model.record import Sample
from aferir.report import sections as package
from aferir.report.analyse import analyse
from aferir.report.blocks import Paragraph, Picture, Subject, Table, Tree
from aferir.report.page import PAGE, sections
from aferir.report.sections import durations
from aferir.report.write.html import html
from aferir.report.write.markdown import markdown
from benchmarks.report.made_up import plan_of, record_of

HELPERS = {"words"}


def test_every_file_of_sections_is_on_the_page() -> None:
    found = {module.name for module in pkgutil.iter_modules(package.__path__)} - HELPERS
    makers = {import_module(f"{package.__name__}.{name}").section for name in found}
    assert makers == set(PAGE)
    assert len(PAGE) == len(makers), "a section is twice on the page"


def test_a_section_says_nothing_about_an_empty_run_or_has_something_to_show(made_up: Any) -> None:
    subject = Subject(evaluation=analyse(made_up.plan(), []))
    for make in PAGE:
        section = make(subject)
        assert section is None or section.blocks


def test_all_forms_have_all_titles(made_up: Any, provenance: Any) -> None:
    evaluation = analyse(made_up.plan(), made_up.records())
    page = html(evaluation, provenance=provenance)
    text = markdown(evaluation, provenance=provenance)
    found = sections(evaluation, provenance=provenance)
    assert found
    for section in found:
        assert f"<h2>{section.title}</h2>" in page or not section.title
        drawn = all(isinstance(block, Picture) for block in section.blocks[-1:])
        if section.title and not section.page_only and not drawn:
            assert f"## {section.title}\n" in text


def test_markdown_asks_for_no_picture(made_up: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluation = analyse(made_up.plan(), made_up.records())
    before = markdown(evaluation)

    def never(*_: object, **__: object) -> str:
        raise AssertionError("a picture was drawn")

    monkeypatch.setattr("aferir.report.charts.rows.rows_chart", never)
    monkeypatch.setattr("aferir.report.charts.ratios.rows_chart", never)
    monkeypatch.setattr("aferir.report.charts.distributions.rows_chart", never)
    assert markdown(evaluation) == before


def test_rows_have_as_many_fields_as_their_header(made_up: Any, provenance: Any) -> None:
    evaluation = analyse(made_up.plan(), made_up.records())
    for section in sections(evaluation, provenance=provenance):
        for block in section.blocks:
            if isinstance(block, Table):
                assert {len(row) for row in block.rows} == {len(block.header)}, section.title


def test_what_markdown_cannot_say_is_on_the_page_only(made_up: Any, provenance: Any) -> None:
    evaluation = analyse(made_up.plan(), made_up.records())
    for section in sections(evaluation, provenance=provenance):
        assert section.page_only or not any(isinstance(block, Tree) for block in section.blocks)


@pytest.mark.parametrize("environments", [1, 2])
def test_the_method_of_ratios_is_told_where_there_are_ratios(environments: int) -> None:
    plan = plan_of(environments, programs=1, repetitions=3)
    samples = (Sample("duration_s", 1.0, "s"),)
    records = [record_of(cell, k, samples, failed=False) for cell in plan.cells for k in range(3)]
    section = durations.section(Subject(evaluation=analyse(plan, records)))
    told = [block for block in section.blocks if isinstance(block, Paragraph)]
    assert len(told) == environments - 1
