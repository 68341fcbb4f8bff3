"""Charts with two numeric axes as SVG; for charts of rows see `rows`."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import msgspec

from aferir.report.charts.rows import WIDTH, letters, mark_path, text
from aferir.report.charts.scales import Axis

_HEIGHT = 260
_TOP = 30
_GAP = 12
_DASHES = {"solid": "", "dashed": "7 4", "dotted": "1.5 3.5", "dashdot": "8 3 1.5 3"}
STYLES = tuple(_DASHES)

Place = tuple[float, float]


class Path(msgspec.Struct, frozen=True):
    """A line through points."""

    places: tuple[Place, ...]
    tone: str
    style: str = "solid"
    wide: float = 1.8


class Area(msgspec.Struct, frozen=True):
    """Area between two lines over the same places."""

    along: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    tone: str


class Spot(msgspec.Struct, frozen=True):
    """An environment's mark, with optional words beside it."""

    at: Place
    place: int
    words: str = ""
    size: float = 0.8
    tone: str = ""
    """CSS class of its colour; empty: the mark's own."""


class Words(msgspec.Struct, frozen=True):
    """Words that stand near a point."""

    at: Place
    words: str
    side: str = ""
    """`end` aligns the end of the words with the point."""
    right: float = 0.0
    up: float = 0.0


class Moment(msgspec.Struct, frozen=True):
    """A vertical line at an event, with the event's name above."""

    at: float
    name: str


Drawn = Path | Area | Spot | Words | Moment


class Entry(msgspec.Struct, frozen=True):
    """One entry of the legend at the right."""

    words: str
    tone: str
    style: str = "solid"
    place: int | None = None
    """Index of a mark; None: a line only."""
    line: bool = True


def plane_chart(
    drawn: Sequence[Drawn],
    axes: tuple[Axis, Axis],
    *,
    name: str,
    title: str,
    description: str,
    below: str = "",
    legend: Sequence[Entry] = (),
    height: float = _HEIGHT,
) -> str:
    """An `<svg>` element with a horizontal (`axes[0]`) and a vertical axis."""
    along, up = axes
    left = _GAP + max((letters(up.shown(tick)) for tick in up.ticks()), default=0)
    right = WIDTH - 14 - (max(34 + letters(one.words) for one in legend) if legend else 0)
    moments = any(isinstance(one, Moment) for one in drawn)
    top = _TOP + 16 * moments
    height = max(height, 18.0 * len(legend) + 10)
    frame = _Frame(along, up, left, right, top, top + height)
    body = [text(2, 16, title, "title"), *frame.grid()]
    for kind in (Area, Moment, Path, Spot, Words):
        body += [part for one in drawn if isinstance(one, kind) for part in frame.one(one)]
    if below:
        body.append(text((left + right) / 2, top + height + 34, below, "below middle"))
    body += _legend(legend, right + 14, top + 8)
    total = top + height + (42 if below else 24)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="rows" viewBox="0 0 {WIDTH} {total:.0f}" '
        f'role="img" aria-labelledby="{name}-title {name}-desc">\n'
        f'<title id="{name}-title">{escape(title)}</title>\n'
        f'<desc id="{name}-desc">{escape(description)}</desc>\n' + "\n".join(body) + "\n</svg>"
    )


def _legend(entries: Sequence[Entry], x: float, y: float) -> list[str]:
    body = []
    for k, one in enumerate(entries):
        middle = y + 18 * k
        if one.line:
            body.append(_stroke(f"M{x:.0f} {middle:.1f}h24", one.tone, one.style, 1.8))
        if one.place is not None:
            body.append(mark_path(one.place, x + 12, middle, 0.8, one.tone))
        body.append(text(x + 30, middle + 4, one.words))
    return body


def _stroke(data: str, tone: str, style: str, wide: float) -> str:
    dashes = f";stroke-dasharray:{_DASHES[style]}" if _DASHES[style] else ""
    return f'<path class="stroke {tone}" style="stroke-width:{wide:g}{dashes}" d="{data}"/>'


class _Frame(msgspec.Struct, frozen=True):
    """Maps values to coordinates of the chart."""

    along: Axis
    up: Axis
    left: float
    right: float
    top: float
    bottom: float

    def x(self, value: float) -> float:
        return self.left + self.along.share(value) * (self.right - self.left)

    def y(self, value: float) -> float:
        return self.bottom - self.up.share(value) * (self.bottom - self.top)

    def grid(self) -> list[str]:
        body, free = [], float("-inf")
        for tick in self.along.ticks():
            x, words = self.x(tick), self.along.shown(tick)
            body.append(f'<path class="grid" d="M{x:.1f} {self.top:.0f}V{self.bottom:.0f}"/>')
            if x - letters(words) / 2 > free:
                body.append(text(x, self.bottom + 16, words, "tick middle"))
                free = x + letters(words) / 2 + 4
        for tick in self.up.ticks():
            y = self.y(tick)
            body.append(f'<path class="grid" d="M{self.left:.0f} {y:.1f}H{self.right:.0f}"/>')
            body.append(text(self.left - 6, y + 4, self.up.shown(tick), "tick end"))
        return body

    def one(self, one: Drawn) -> list[str]:
        if isinstance(one, Spot):
            x, y = self.x(one.at[0]), self.y(one.at[1])
            beside = [text(x + 7, y - 6, one.words, "note")] if one.words else []
            return [mark_path(one.place, x, y, one.size, one.tone), *beside]
        if isinstance(one, Words):
            x, y = self.x(one.at[0]) + one.right, self.y(one.at[1]) - one.up
            return [text(x, y, one.words, f"note {one.side}".rstrip())]
        if isinstance(one, Path):
            return [_stroke(self._through(one.places), one.tone, one.style, one.wide)]
        if isinstance(one, Moment):
            x = self.x(one.at)
            line = _stroke(f"M{x:.1f} {self.top:.0f}V{self.bottom:.0f}", "muted", "dotted", 1)
            return [line, text(x, self.top - 4, one.name, "tick middle")]
        edge = [*zip(one.along, one.low, strict=True)]
        edge += reversed([*zip(one.along, one.high, strict=True)])
        return [f'<path class="area {one.tone}" d="{self._through(edge)}z"/>']

    def _through(self, places: Sequence[Place]) -> str:
        return "M" + "L".join(f"{self.x(x):.1f} {self.y(y):.1f}" for x, y in places)
