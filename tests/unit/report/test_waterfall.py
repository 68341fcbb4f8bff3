from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.model.design import Kept
from aferir.report.analyse import analyse
from aferir.report.causes import Cause, Explanation, advice, sentence
from aferir.report.charts.waterfall import waterfall_chart
from aferir.report.write.html import html
from aferir.report.write.markdown import markdown
from aferir.statistics.intervals import Interval

SVG = "{http://www.w3.org/2000/svg}"


def interval(low: float, high: float) -> Interval:
    return Interval(low, high, 0.95, "t")


def explained(*effects: float, total: float, intervals: bool = False) -> Explanation:
    return Explanation(
        environment="container",
        baseline="native",
        group="cg.A",
        total=total,
        total_interval=interval(total - 0.01, total + 0.01) if intervals else None,
        rest_interval=interval(-0.012, 0.012) if intervals else None,
        causes=tuple(
            Cause(
                name=f"cause {k}",
                effect=effect,
                interval=interval(effect - 0.002, effect + 0.002) if intervals else None,
            )
            for k, effect in enumerate(effects)
        ),
    )


def bars(svg: str) -> list[tuple[float, float]]:
    """Left and right end of every bar from top to bottom."""
    found = ET.fromstring(svg).iter(f"{SVG}rect")  # noqa: S314 - our own output
    lefts = [(float(e.attrib["x"]), float(e.attrib["width"])) for e in found]
    return [(left, left + width) for left, width in lefts]


@given(st.lists(st.floats(-0.5, 0.5), max_size=6), st.floats(-0.9, 5.0))
def test_causes_and_rest_add_up_to_the_whole(effects: list[float], total: float) -> None:
    one = explained(*effects, total=total)
    assert sum(cause.effect for cause in one.causes) + one.rest == pytest.approx(total)
    assert "</svg>" in waterfall_chart(one)


def test_each_bar_begins_where_the_one_above_ended() -> None:
    found = bars(waterfall_chart(explained(0.05, 0.03, total=0.10)))
    assert len(found) == 4
    first, second, rest, whole = found
    assert second[0] == pytest.approx(first[1], abs=0.2)
    assert rest[0] == pytest.approx(second[1], abs=0.2)
    assert whole[0] == pytest.approx(first[0], abs=0.2)
    assert whole[1] == pytest.approx(rest[1], abs=0.2)


def test_what_saves_time_goes_back() -> None:
    first, second, _, whole = bars(waterfall_chart(explained(0.10, -0.04, total=0.06)))
    assert second[1] == pytest.approx(first[1], abs=0.2)
    assert second[0] == pytest.approx(whole[1], abs=0.2)


def test_the_sentence_names_the_largest_causes_first() -> None:
    said = sentence(explained(0.01, 0.05, -0.02, 0.004, 0.001, total=0.06))
    assert said.startswith(
        "container costs +6.0 % on cg.A against native: cause 1 +5.0 %, cause 2 -2.0 %, cause 0"
    )
    assert said.endswith("unexplained +1.5 %.")


def test_every_part_has_its_interval_and_what_is_not_sure_is_said_to_be_so() -> None:
    one = explained(0.05, 0.001, total=0.055, intervals=True)
    unsure = msgspec.structs.replace(one.causes[1], claimed=False)
    some = msgspec.structs.replace(one, causes=(one.causes[0], unsure))
    assert sentence(some) == (
        "container costs +5.5 % [+4.5, +6.5] on cg.A against native: cause 0 +5.0 % [+4.8, +5.2], "
        "cause 1, which is not sure, +0.1 %, unexplained +0.4 % [-1.2, +1.2]."
    )
    none = msgspec.structs.replace(one, causes=(unsure,))
    assert "no cause is sure: cause 1 costs or saves at most 0.3 %" in sentence(none)


def test_advice_is_for_what_surely_costs_and_for_what_was_not_varied() -> None:
    one = explained(0.05, total=0.055, intervals=True)
    sure = msgspec.structs.replace(one.causes[0], remedy="leave it out", gives_up="a wall")
    saves = msgspec.structs.replace(sure, effect=-0.05)
    unsure = msgspec.structs.replace(sure, claimed=False)
    some = msgspec.structs.replace(
        one,
        causes=(sure, saves, unsure),
        kept=(Kept("network", "no"), Kept("overlay", "why"), Kept("image", "no")),
    )
    assert advice(some) == (
        "Cause 0 (+5.0 %): leave it out; this gives up a wall.",
        "Network and image were not taken away: no.",
        "Overlay was not taken away: why.",
    )


def test_no_cause_at_all_is_said() -> None:
    assert sentence(explained(total=0.02)).endswith("no cause is known.")


def test_names_are_escaped() -> None:
    one = explained(total=0.02)
    drawn = waterfall_chart(
        Explanation(
            environment="<vm>",
            baseline="native",
            group="a&b",
            total=one.total,
            causes=(Cause(name="<script>", effect=0.01),),
        )
    )
    assert "<script>" not in drawn
    assert len(bars(drawn)) == 3


def test_causes_are_a_section_of_the_page_and_of_markdown(made_up: Any) -> None:
    without = analyse(made_up.plan(), made_up.records())
    one = explained(0.05, 0.03, total=0.10, intervals=True)
    evaluation = msgspec.structs.replace(without, explanations=(one,))
    page = html(evaluation)
    for form in (page, markdown(evaluation)):
        assert "Where the difference comes from" in form
        assert "cause 1" in form
        assert "unexplained" in form
    assert "causes-0-title" in page
    assert "Where the difference comes from" not in html(without)
