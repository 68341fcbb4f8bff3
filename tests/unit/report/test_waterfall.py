from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.report.analyse import analyse
from aferir.report.causes import Cause, Explanation, sentence
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
        "container takes 6.0 % more time than native on cg.A: +5.0 % from cause 1"
    )
    assert "+0.5 % from 2 smaller causes" in said
    assert said.endswith("+1.5 % is unexplained.")


def test_a_rest_within_the_errors_may_be_nothing() -> None:
    near = sentence(explained(0.05, total=0.055, intervals=True))
    far = sentence(explained(0.05, total=0.10, intervals=True))
    assert "which may be nothing" in near
    assert "which may be nothing" not in far


def test_without_every_interval_the_rest_has_none() -> None:
    one = explained(0.05, total=0.10, intervals=True)
    assert one.rest_interval is not None
    unknown = Explanation(
        environment="container",
        baseline="native",
        group="cg.A",
        total=0.10,
        total_interval=one.total_interval,
        causes=(*one.causes, Cause(name="other", effect=0.01)),
    )
    assert unknown.rest_interval is None


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
    evaluation = analyse(made_up.plan(), made_up.records())
    one = explained(0.05, 0.03, total=0.10, intervals=True)
    page = html(evaluation, explanations=(one,))
    for form in (page, markdown(evaluation, explanations=(one,))):
        assert "Where the difference comes from" in form
        assert "cause 1" in form
        assert "unexplained" in form
    assert "causes-0-title" in page
    assert "Where the difference comes from" not in html(evaluation)
