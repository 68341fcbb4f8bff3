"""Runs with a dozen environments and dozens of workloads: the important things come first."""

from __future__ import annotations

import re

import pytest

from aferir.report.analyse import analyse
from aferir.report.marks import MARKS, mark, places
from aferir.report.model import Evaluation
from aferir.report.opening import lines, too_long
from aferir.report.overview import overview
from aferir.report.page import sections
from aferir.report.write.html import html, unbroken
from aferir.report.write.markdown import markdown
from tests.unit.report.wide_run import STALLING, plan, records


@pytest.fixture(scope="module")
def wide() -> Evaluation:
    of = plan()
    return analyse(of, records(of))


@pytest.fixture(scope="module")
def page(wide: Evaluation) -> str:
    return html(wide)


def test_the_overview_counts_every_comparison_once(wide: Evaluation) -> None:
    seen = overview(wide)
    assert (seen.groups, seen.comparisons) == (60, 660)
    assert sum(seen.outcomes.values()) == 660
    assert sum(sum(one.outcomes.values()) for one in seen.environments) == 660
    assert seen.outcomes["higher"] == 3


def test_what_costs_most_comes_largest_first(wide: Evaluation) -> None:
    found = [(one.environment, one.group) for one in overview(wide).worst]
    assert found == [("kind-3", "program-7"), ("kind-5", "program-9"), ("kind-2", "program-11")]


def test_what_failed_is_counted_with_what_did_not(wide: Evaluation) -> None:
    (failed,) = overview(wide).failed
    assert (failed.environment, failed.groups) == ("kind-4", ("program-20",))
    assert (failed.repetitions, failed.of, failed.without_result) == (5, 8, 0)


def test_the_first_ten_lines_say_what_matters(wide: Evaluation) -> None:
    first = "\n".join([line for line in markdown(wide).splitlines() if line][:10])
    for planted in (
        "3 slower",
        "kind-3 on program-7",
        "kind-5 on program-9",
        "kind-2 on program-11",
    ):
        assert planted in first
    assert "kind-4 on program-20: 5 of 8 repetitions (time-limit)" in first
    assert len(lines(wide)) <= 6
    assert all(len(line) < 400 for line in lines(wide))


def test_sentences_of_a_wide_run_are_details(wide: Evaluation, page: str) -> None:
    assert too_long(wide)
    longest = max(wide.sentences, key=lambda sentence: len(sentence.text)).text
    shown = unbroken(longest)
    assert page.index("Costs most") < page.index("<figure") < page.index(shown)
    assert longest not in markdown(wide)


def test_sentences_of_a_small_run_stay_first() -> None:
    of = plan(3, 3)
    evaluation = analyse(of, records(of))
    assert not too_long(evaluation)
    assert unbroken(evaluation.sentences[0].text) in html(evaluation)
    assert "Every comparison at a glance" not in html(evaluation)


def test_each_comparison_has_a_field_of_the_sheet(page: str) -> None:
    sheet = re.search(r'<table class="dense">.*?</table>', page, flags=re.DOTALL)
    assert sheet is not None
    assert len(re.findall(r'<td class="tone-', sheet[0])) == 660
    slower = re.findall(r'<td class="tone-slower" title="([^"]+)">', sheet[0])
    assert [one.split(":")[0] for one in slower] == [
        "kind-3 on program-7",
        "kind-5 on program-9",
        "kind-2 on program-11",
    ]


def test_no_picture_has_more_rows_than_can_be_read(page: str) -> None:
    for svg in re.findall(r"<figure>(<svg .*?</svg>)", page, flags=re.DOTALL):
        assert svg.count('class="note"') <= 62


def test_what_is_long_is_folded(wide: Evaluation) -> None:
    open_rows = sum(
        len(getattr(block, "rows", ()))
        for section in sections(wide)
        if not section.folded
        for block in section.blocks
    )
    assert open_rows < 100


def test_sixteen_environments_have_sixteen_marks_without_their_colours() -> None:
    looks = {(mark(k).outline, mark(k).hollow) for k in range(MARKS)}
    assert len(looks) == MARKS >= 12


def test_a_hollow_mark_has_another_colour_than_the_filled_one_of_its_shape() -> None:
    assert mark(3).shape == mark(11).shape
    assert mark(3).place != mark(11).place


def test_a_family_has_the_mark_of_its_first_variant() -> None:
    found = places(["native", "container[cpus=1]", "container[cpus=2]"])
    assert found["container"] == found["container[cpus=1]"] == 1


def test_twelve_environments_are_told_apart_in_every_table(wide: Evaluation, page: str) -> None:
    used = {
        name: re.search(rf'<svg class="(dot e\d+[^"]*)"[^>]*>(?:(?!</svg>).)*</svg>{name}<', page)
        for name in wide.environments
    }
    classes = {found[1] for found in used.values() if found is not None}
    assert len(classes) == len(wide.environments) == 12


def test_stalls_are_seen_over_all_groups_where_none_tells_alone(wide: Evaluation) -> None:
    (stalling,) = overview(wide).stalling
    assert (stalling.environment, stalling.of, stalling.baseline_of) == (STALLING, 480, 480)
    assert stalling.stalled > 60
    assert stalling.baseline_stalled < 20
    (line,) = [line for line in lines(wide) if line.startswith("Stalls: ")]
    assert f"{STALLING} in {stalling.stalled} of 480 repetitions" in line
