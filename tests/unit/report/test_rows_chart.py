from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from aferir.report.charts.rows import (
    WIDTH,
    Bar,
    Key,
    Line,
    Panel,
    Point,
    Row,
    Tick,
    letters,
    rows_chart,
)
from aferir.report.charts.scales import (
    MOST_TICKS,
    Axis,
    linear_ticks,
    log_ticks,
    time_ticks,
    unit_ticks,
)

SVG = "{http://www.w3.org/2000/svg}"


def chart(*rows: Row, low: float = 0.0, high: float = 10.0) -> ET.Element:
    axis = Axis(low, high, lambda value: f"{value:g}")
    drawn = rows_chart(
        [Panel(rows=rows, axis=axis)],
        name="c",
        title="a < b",
        description="d & e",
        legend=[Key("state-user", "user")],
    )
    return ET.fromstring(drawn)  # noqa: S314 - our own output


def bars(svg: ET.Element) -> list[tuple[float, float]]:
    found = [e for e in svg.iter(f"{SVG}rect") if e.attrib["class"] == "good"]
    return [(float(e.attrib["x"]), float(e.attrib["width"])) for e in found]


def test_bars_are_as_long_as_their_values() -> None:
    (a, wide), (b, narrow) = bars(
        chart(
            Row(label="a", drawn=(Bar(0, 8, "good"),)), Row(label="b", drawn=(Bar(2, 4, "good"),))
        )
    )
    assert wide == pytest.approx(4 * narrow, rel=0.01)
    assert b == pytest.approx(a + narrow, abs=0.2)


def test_what_runs_off_the_axis_ends_at_its_edge() -> None:
    ((_, width),) = bars(chart(Row(label="a", drawn=(Bar(0, 80, "good"),))))
    ((_, whole),) = bars(chart(Row(label="a", drawn=(Bar(0, 10, "good"),))))
    assert width == whole


def test_words_are_escaped_and_long_names_are_whole_in_their_tooltip() -> None:
    name = "<program>/" + "x" * 80
    svg = chart(Row(label=name, note="1 & 2", drawn=(Tick(3), Point(2, 9), Line(1, 2, "e3"))))
    texts = [text.text or "" for text in svg.iter(f"{SVG}text")]
    assert "1 & 2" in texts
    assert name not in texts
    assert name in [title.text for title in svg.iter(f"{SVG}title")]


def test_a_narrow_chart_of_long_names_keeps_room_for_its_rows() -> None:
    row = Row(label="n" * 60, note="9" * 40, drawn=(Bar(0, 10, "good"),))
    ((left, width),) = bars(chart(row))
    assert width > WIDTH / 4
    assert left + width < WIDTH


def test_capitals_have_the_room_that_they_take() -> None:
    assert letters("CLOCK_MONOTONIC_COARSE") >= 178.2  # in DejaVu Sans of 12 units
    assert letters("clock") < letters("CLOCK")


def test_ticks_have_no_exponent() -> None:
    shown = unit_ticks((1e4, 1e6), "")
    assert [shown(tick) for tick in (0, 1e4, 1e6, 1e-5, 0.25)] == [
        *("0", "10,000", "1,000,000", "0.00001", "0.25")
    ]


@given(
    st.floats(-1e9, 1e9, allow_subnormal=False),
    st.floats(1e-6, 1e9),
)
def test_linear_ticks_are_inside_and_few(low: float, span: float) -> None:
    high = low + span
    assume(span > 1e-6 * abs(low))
    ticks = linear_ticks(low, high)
    assert len(ticks) <= MOST_TICKS + 1
    assert all(low - 1e-6 * span <= tick <= high + 1e-6 * span for tick in ticks)


@given(st.floats(1e-9, 1e6), st.floats(1.2, 1e12))
def test_log_ticks_are_inside_and_few(low: float, factor: float) -> None:
    ticks = log_ticks(low, low * factor)
    assert len(ticks) <= MOST_TICKS
    assert all(low * 0.999 <= tick <= low * factor * 1.001 for tick in ticks)


def test_ticks_of_time_share_one_unit() -> None:
    shown = time_ticks(0.0, 0.02)
    assert [shown(value) for value in (0.0, 0.005, 0.02)] == ["0", "5 ms", "20 ms"]


def test_a_value_has_its_share_of_a_logarithmic_axis() -> None:
    axis = Axis(1.0, 100.0, str, logarithmic=True)
    assert axis.share(10.0) == pytest.approx(0.5)
    assert axis.share(0.0) == 0.0
