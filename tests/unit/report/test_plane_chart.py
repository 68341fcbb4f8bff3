from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from aferir.report.charts.plane import Area, Entry, Moment, Path, Spot, plane_chart
from aferir.report.charts.scales import Axis, fitting

SVG = "{http://www.w3.org/2000/svg}"
SQUARE = Axis(0.0, 10.0, "{:g}".format)


def chart(*drawn: Path | Area | Spot | Moment, legend: tuple[Entry, ...] = ()) -> ET.Element:
    svg = plane_chart(
        drawn, (SQUARE, SQUARE), name="c", title="t < u", description="d", legend=legend
    )
    return ET.fromstring(svg)  # noqa: S314 - our own output


def line(svg: ET.Element) -> list[tuple[float, float]]:
    (path,) = [e for e in svg.iter(f"{SVG}path") if e.attrib.get("class") == "stroke e3"]
    pairs = path.attrib["d"].removeprefix("M").split("L")
    return [(float(x), float(y)) for x, y in (pair.split() for pair in pairs)]


def test_larger_values_lie_higher_and_further_right() -> None:
    (x0, y0), (x1, y1), (x2, y2) = line(chart(Path(((0, 0), (5, 5), (10, 10)), "e3")))
    assert x0 < x1 < x2
    assert y0 > y1 > y2
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.2)
    assert y0 - y1 == pytest.approx(y1 - y2, abs=0.2)


def test_marks_lie_on_their_line() -> None:
    svg = chart(Path(((2, 3), (8, 4)), "e3"), Spot((8, 4), 3))
    (mark,) = [e for e in svg.iter(f"{SVG}path") if e.attrib.get("class") == "mark e3"]
    x, y = line(svg)[1]
    assert f"translate({x:.1f} {y:.1f})" in mark.attrib["transform"]


def test_a_long_legend_makes_the_chart_higher_not_the_text_smaller() -> None:
    entries = tuple(Entry(f"arm {k}", f"e{k % 16}") for k in range(40))
    few, many = (float(chart(legend=some).attrib["viewBox"].split()[3]) for some in ((), entries))
    assert many > few
    texts = [e.text for e in chart(legend=entries).iter(f"{SVG}text")]
    assert {entry.words for entry in entries} <= set(texts)


def test_moments_are_named_above_the_curves() -> None:
    svg = chart(Path(((0, 0), (10, 10)), "e3"), Moment(4, "eth0 is cut"))
    (words,) = [e for e in svg.iter(f"{SVG}text") if e.text == "eth0 is cut"]
    assert float(words.attrib["y"]) < min(y for _, y in line(svg))


def test_axes_are_logarithmic_where_values_are_far_apart() -> None:
    assert fitting([1.0, 1e4], "s").logarithmic
    assert not fitting([1.0, 4.0], "s").logarithmic
    assert not fitting([0.5, 100.0], "%").logarithmic


def test_a_few_whole_numbers_have_a_tick_each() -> None:
    assert fitting([1.0, 2.0, 4.0], "", few=True).ticks() == [1.0, 2.0, 4.0]
    assert len(fitting([float(k) for k in range(50)], "", few=True).ticks()) < 20


def test_values_on_both_sides_of_zero_keep_their_order() -> None:
    values = [-1e3, -1.0, 0.0, 0.5, 1.0, 1e4]
    axis = fitting(values, "s")
    shares = [axis.share(value) for value in values]
    assert shares == sorted(set(shares))
    assert axis.share(1.0) - axis.share(0.0) > 0.05
    assert 0.0 in axis.ticks()


def test_values_that_are_all_alike_have_an_axis() -> None:
    for value in (0.0, 3.0, -2.0):
        axis = fitting([value], "s")
        assert axis.low < value < axis.high
        assert axis.share(value) == pytest.approx(0.5)
