"""Charts of labelled rows as SVG.

One row for each compared thing: its name at the left, its values along an axis, the figures at the
right, where no mark can cover them. A report may have a thousand such rows; matplotlib took 20 ms
for each, this code takes 0.1 ms. All colours are CSS classes of the page
(`write/templates/colours.css`), so that one chart serves light and dark mode and print.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import msgspec

from aferir.report.charts.scales import Axis
from aferir.report.marks import mark

WIDTH = 960
"""Width of every chart in SVG units, which the page scales to its column; text is 12 units high."""
ROW = 24
_TEXT = 7.7
"""Width of most small letters and of digits in SVG units, as of DejaVu Sans, a wide font: with the
width of an average letter, `podman` lost its first one.
"""
_WIDTHS = {
    **dict.fromkeys("ijlftrI.,:;|!'()[]/ -·", 4.8),
    **dict.fromkeys("mwMW%@", 11.7),
    **dict.fromkeys("=+±<>~", 10.1),
}
"""Widths of characters that are much narrower or wider than most."""
_CAPITAL = 8.4
"""Average width of a capital letter in SVG units."""
_LONGEST = 46
"""Longest name in letters; the middle of longer ones is left out, and a tooltip has the whole."""
_GAP = 12
_MARK = 16
"""Width of the space for the mark beside a name, in SVG units."""


class Bar(msgspec.Struct, frozen=True):
    """A bar from one value to another, in a row."""

    low: float
    high: float
    tone: str
    """CSS class of the bar's colour."""
    hatched: bool = False
    thick: float = 0.66
    """Thickness as a share of the row's height."""


class Line(msgspec.Struct, frozen=True):
    """An interval in a row, drawn as a line."""

    low: float
    high: float
    tone: str
    wide: float = 2.4


class Tick(msgspec.Struct, frozen=True):
    """A short stroke across the row."""

    at: float
    tone: str = "ink"


class Point(msgspec.Struct, frozen=True):
    """An environment's mark at a value in a row."""

    at: float
    place: int
    size: float = 1.0
    shift: float = 0.0
    """Vertical offset in rows."""
    tone: str = ""
    """CSS class of its colour; empty: the mark's own."""


class Note(msgspec.Struct, frozen=True):
    """Text inside a row, which starts at the value `at` of the axis."""

    at: float
    text: str


Drawn = Bar | Line | Tick | Point | Note


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a chart: a label, and the marks and figures beside it."""

    label: str
    note: str = ""
    place: int | None = None
    """Index of the environment whose mark precedes the name."""
    quiet: bool = False
    drawn: tuple[Drawn, ...] = ()


class Panel(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of a chart that have a common axis."""

    rows: tuple[Row, ...]
    axis: Axis
    title: str = ""
    below: str = ""
    """Title of the axis, below it."""
    zero: float | None = None
    """Value of a vertical line through all rows that means no difference."""
    band: tuple[float, float] | None = None
    """Range of a grey band through all rows: differences that do not matter."""


class Key(msgspec.Struct, frozen=True):
    """An entry of the legend: a CSS class, and its meaning."""

    tone: str
    text: str
    hatched: bool = False
    place: int | None = None
    """Index of the mark shown instead of the coloured box; None: the box is shown."""


def rows_chart(
    panels: Sequence[Panel], *, name: str, title: str, description: str, legend: Sequence[Key] = ()
) -> str:
    """An `<svg>` element; `name` makes its ids unique.

    Screen readers read the title and the description.
    """
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
    """Several charts as one picture, one below another."""
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
    """Approximate width of a text in SVG units."""
    return sum(_WIDTHS.get(one, _CAPITAL if one.isupper() else _TEXT) for one in text)


def shortened(text: str, longest: int = _LONGEST) -> str:
    """Text, cut in the middle if it is too long: names of groups differ at either end."""
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
    """Entries of the legend, wrapped onto as many lines as needed."""
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
    """Labels of ticks; a label that would overlap the previous one is left out."""
    body, free = [], float("-inf")
    for tick in ticks:
        words, x = panel.axis.shown(tick), place.x(tick)
        if x - letters(words) / 2 > free:
            body.append(text(x, y, words, "tick middle"))
            free = x + letters(words) / 2 + 4
    return body


def text(x: float, y: float, words: str, style: str = "", tooltip: str = "") -> str:
    """A `<text>` element; `style` is a list of CSS classes."""
    classes = f' class="{style}"' if style else ""
    inside = f"<title>{escape(tooltip)}</title>" if tooltip else ""
    return f'<text{classes} x="{x:.1f}" y="{y:.1f}">{inside}{escape(words)}</text>'


def mark_path(place: int, x: float, y: float, size: float = 1.0, tone: str = "") -> str:
    """SVG path of an environment's mark, centred on (x, y); `tone`: a class for another colour."""
    look = mark(place)
    classes = f"mark {tone or f'e{look.place}'}" + (" hollow" if look.hollow else "")
    scale = f" scale({size:g})" if size != 1 else ""
    return (
        f'<path class="{classes}" transform="translate({x:.1f} {y:.1f}){scale}" '
        f'd="{look.outline}"/>'
    )


class _Placing(msgspec.Struct, frozen=True):
    """Maps values of one panel to coordinates of the chart."""

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
