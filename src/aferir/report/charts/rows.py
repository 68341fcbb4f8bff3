"""Charts of labelled rows, written as SVG directly.

One row for each thing that is compared: its name at the left, what was measured along an axis, the
figures at the right, where no mark can cover them. A report may hold a thousand such rows;
matplotlib took 20 ms for each of them, this takes 0.1 ms. All colours are classes of the page
(`write/templates/colours.css`), so that one chart serves light, dark and print.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import msgspec

from aferir.report.charts.scales import Axis
from aferir.report.marks import mark

WIDTH = 960
"""Width of every chart in its own units; the page scales it to its column. Text is 12 of them
high."""
ROW = 24
_TEXT = 7.0
"""Usual width of a letter."""
_LONGEST = 46
"""Letters of a name; the middle of longer ones is left out, the whole stands in its tooltip."""
_GAP = 12
_MARK = 16
"""Room for the mark beside a name."""


class Bar(msgspec.Struct, frozen=True):
    """A box from one value to another."""

    low: float
    high: float
    tone: str
    """Class of its colour."""
    hatched: bool = False
    thick: float = 0.66
    """Share of the row's height."""


class Line(msgspec.Struct, frozen=True):
    """An interval."""

    low: float
    high: float
    tone: str
    wide: float = 2.4


class Tick(msgspec.Struct, frozen=True):
    """A short stroke across the row."""

    at: float
    tone: str = "ink"


class Point(msgspec.Struct, frozen=True):
    """An environment's mark."""

    at: float
    place: int
    size: float = 1.0
    shift: float = 0.0
    """Up or down, in rows."""
    tone: str = ""
    """Class of its colour; empty: the mark's own."""


class Note(msgspec.Struct, frozen=True):
    """Words within the row, from a value on."""

    at: float
    text: str


Drawn = Bar | Line | Tick | Point | Note


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One thing."""

    label: str
    note: str = ""
    place: int | None = None
    """Place of the environment whose mark stands before the name."""
    quiet: bool = False
    drawn: tuple[Drawn, ...] = ()


class Panel(msgspec.Struct, frozen=True, kw_only=True):
    """Rows with an axis of their own."""

    rows: tuple[Row, ...]
    axis: Axis
    title: str = ""
    below: str = ""
    """What the axis shows."""
    zero: float | None = None
    """A line through all rows: where nothing differs."""
    band: tuple[float, float] | None = None
    """A grey band through all rows: what does not matter."""


class Key(msgspec.Struct, frozen=True):
    """An entry of the legend: a class of colour, and what it stands for."""

    tone: str
    text: str
    hatched: bool = False
    place: int | None = None
    """Place of a mark that stands instead of a box of that colour."""


def rows_chart(
    panels: Sequence[Panel], *, name: str, title: str, description: str, legend: Sequence[Key] = ()
) -> str:
    """An `<svg>` element. `name` makes its ids unique; title and description are read aloud."""
    rows = [row for panel in panels for row in panel.rows]
    left = _left(rows)
    right = WIDTH - _right(rows)
    body, y = _legend(legend, name)
    for panel in panels:
        drawn, y = _panel(panel, (left, right), y, name)
        body += drawn
    hatch = (
        f'<defs><pattern id="{name}-hatch" width="6" height="6" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><path class="hatch" d="M0 0V6"/></pattern></defs>'
        if any(isinstance(one, Bar) and one.hatched for row in rows for one in row.drawn)
        else ""
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="rows" viewBox="0 0 {WIDTH} {y:.0f}" '
        f'role="img" aria-labelledby="{name}-title {name}-desc">\n'
        f'<title id="{name}-title">{escape(title)}</title>\n'
        f'<desc id="{name}-desc">{escape(description)}</desc>{hatch}\n'
        + "\n".join(body)
        + "\n</svg>"
    )


def stacked(svgs: Sequence[str], *, name: str, title: str, description: str) -> str:
    """Several charts as one picture, one below the other."""
    body, y = [], 0.0
    for svg in svgs:
        opening, _, rest = svg.partition(">")
        inside = rest.removesuffix("</svg>")
        height = float(opening.partition('viewBox="')[2].split()[3].rstrip('"'))
        body.append(f'<g transform="translate(0 {y:.0f})">{inside}</g>')
        y += height + 12
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="rows" viewBox="0 0 {WIDTH} {y:.0f}" '
        f'role="img" aria-labelledby="{name}-title {name}-desc">\n'
        f'<title id="{name}-title">{escape(title)}</title>\n'
        f'<desc id="{name}-desc">{escape(description)}</desc>\n' + "\n".join(body) + "\n</svg>"
    )


def letters(text: str) -> float:
    """About how wide a text is, in units of the chart."""
    return _TEXT * len(text)


def shortened(text: str, longest: int = _LONGEST) -> str:
    """The text, or its two ends: names of groups differ at either of them."""
    if len(text) <= longest:
        return text
    half = (longest - 1) // 2
    return f"{text[: longest - 1 - half]}…{text[-half:]}"


def _left(rows: Iterable[Row]) -> float:
    return (
        max(letters(shortened(row.label)) + _MARK * (row.place is not None) for row in rows) + _GAP
    )


def _right(rows: Iterable[Row]) -> float:
    return max(max(map(letters, row.note.split("\n"))) for row in rows) + _GAP + 4


def _height(row: Row) -> float:
    return ROW + 6 * row.note.count("\n")


def _legend(keys: Sequence[Key], name: str) -> tuple[list[str], float]:
    """Entries one after the other, on as many lines as they need."""
    body, x, y = [], 2.0, 4.0
    for key in keys:
        width = 18 + letters(key.text) + 16
        if x > 2 and x + width > WIDTH:
            x, y = 2.0, y + 18
        if key.place is not None:
            body.append(mark_path(key.place, x + 6, y + 6, tone=key.tone))
        else:
            fill = f' style="fill:url(#{name}-hatch)"' if key.hatched else ""
            body.append(
                f'<rect class="{key.tone}"{fill} x="{x:.0f}" y="{y:.0f}" width="12" height="12"/>'
            )
        body.append(text(x + 17, y + 10, key.text))
        x += width
    return body, y + 22 if keys else 4.0


def _panel(
    panel: Panel, sides: tuple[float, float], y: float, name: str
) -> tuple[list[str], float]:
    left, right = sides
    body = []
    if panel.title:
        body.append(text(2, y + 12, panel.title, "title"))
        y += 20
    heights = [_height(row) for row in panel.rows]
    top, bottom = y, y + sum(heights)
    place = _Placing(panel.axis, left, right, name)
    ticks = panel.axis.ticks()
    for tick in ticks:
        x = place.x(tick)
        body.append(f'<path class="grid" d="M{x:.1f} {top:.0f}V{bottom + 4:.0f}"/>')
    if panel.band is not None:
        low, high = (place.x(end) for end in panel.band)
        body.append(
            f'<rect class="band" x="{low:.1f}" y="{top:.0f}" width="{max(high - low, 1):.1f}" '
            f'height="{bottom - top:.0f}"/>'
        )
    if panel.zero is not None:
        x = place.x(panel.zero)
        body.append(f'<path class="zero" d="M{x:.1f} {top:.0f}V{bottom:.0f}"/>')
    middle = top
    for row, height in zip(panel.rows, heights, strict=True):
        body += place.row(row, middle + height / 2)
        middle += height
    body += _tick_words(panel, ticks, place, bottom + 16)
    y = bottom + 22
    if panel.below:
        body.append(text((left + right) / 2, y + 10, panel.below, "below middle"))
        y += 16
    return body, y + 10


def _tick_words(panel: Panel, ticks: Sequence[float], place: _Placing, y: float) -> list[str]:
    """Those that have room: words of long units would run into one another."""
    body, free = [], float("-inf")
    for tick in ticks:
        words, x = panel.axis.shown(tick), place.x(tick)
        if x - letters(words) / 2 > free:
            body.append(text(x, y, words, "tick middle"))
            free = x + letters(words) / 2 + 4
    return body


def text(x: float, y: float, words: str, style: str = "", tooltip: str = "") -> str:
    """A `<text>` element; `style` are classes of the page."""
    classes = f' class="{style}"' if style else ""
    inside = f"<title>{escape(tooltip)}</title>" if tooltip else ""
    return f'<text{classes} x="{x:.1f}" y="{y:.1f}">{inside}{escape(words)}</text>'


def mark_path(place: int, x: float, y: float, size: float = 1.0, tone: str = "") -> str:
    """An environment's mark around a place, in its own colour or another."""
    look = mark(place)
    classes = f"mark {tone or f'e{look.place}'}" + (" hollow" if look.hollow else "")
    scale = f" scale({size:g})" if size != 1 else ""
    return (
        f'<path class="{classes}" transform="translate({x:.1f} {y:.1f}){scale}" '
        f'd="{look.outline}"/>'
    )


class _Placing(msgspec.Struct, frozen=True):
    """Where values of one panel lie in the chart."""

    axis: Axis
    left: float
    right: float
    name: str

    def x(self, value: float) -> float:
        return self.left + self.axis.share(value) * (self.right - self.left)

    def row(self, row: Row, y: float) -> list[str]:
        label = shortened(row.label)
        tooltip = row.label if label != row.label else ""
        quiet = " quiet" if row.quiet else ""
        beside = 0 if row.place is None else _MARK
        body = [text(self.left - _GAP - beside, y + 4, label, f"end{quiet}", tooltip)]
        if row.place is not None:
            body.append(mark_path(row.place, self.left - _GAP - 4, y))
        body += [self._one(one, y) for one in row.drawn]
        lines = row.note.split("\n")
        for k, line in enumerate(lines):
            body.append(
                text(self.right + _GAP, y + 4 + 12 * (k - (len(lines) - 1) / 2), line, "note")
            )
        return body

    def _one(self, one: Drawn, y: float) -> str:
        if isinstance(one, Point):
            return mark_path(one.place, self.x(one.at), y + ROW * one.shift, one.size, one.tone)
        if isinstance(one, Note):
            return text(self.x(one.at), y + 4, one.text, "note quiet")
        if isinstance(one, Tick):
            x = self.x(one.at)
            return f'<path class="stroke {one.tone}" d="M{x:.1f} {y - 9:.1f}V{y + 9:.1f}"/>'
        low, high = sorted((self.x(one.low), self.x(one.high)))
        if isinstance(one, Line):
            return (
                f'<path class="stroke {one.tone}" style="stroke-width:{one.wide:g}" '
                f'd="M{low:.1f} {y:.1f}H{max(high, low + 0.8):.1f}"/>'
            )
        height = ROW * one.thick
        fill = f' style="fill:url(#{self.name}-hatch)"' if one.hatched else ""
        return (
            f'<rect class="{one.tone}"{fill} x="{low:.1f}" y="{y - height / 2:.1f}" '
            f'width="{max(high - low, 0.5):.1f}" height="{height:.1f}"/>'
        )
