"""How all charts look: colours by role, not by value, and SVG that fits into a page.

matplotlib draws with a placeholder for each role; afterwards every placeholder becomes a CSS
custom property of the page, so that one chart serves light, dark and print.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from html import escape
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from aferir.report.charts.cpu import STATES
from aferir.report.marks import MARKS, mark

INK, MUTED, GRID, SURFACE = "#010101", "#020202", "#030303", "#040404"
_ROLES = {INK: "--ink", MUTED: "--muted", GRID: "--grid", SURFACE: "--surface"}
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    # Names come from other people's files: a dollar sign is no formula.
    "text.parse_math": False,
    "axes.unicode_minus": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.edgecolor": GRID,
    "axes.labelcolor": MUTED,
    "axes.labelsize": 8.5,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "text.color": INK,
    "xtick.color": GRID,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": INK,
    "ytick.color": GRID,
    "ytick.major.size": 0,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "hatch.linewidth": 1.0,
    "legend.frameon": False,
}
HATCH = "/////"
"""On everything that was emulated in software."""
WIDTH = 9.6
"""Inches; the page scales a chart to its column."""


def environment_colour(index: int) -> str:
    """Placeholder for the accent of the environment with this place in the plan."""
    return f"#1000{index % MARKS:02x}"


def environment_marker(index: int) -> dict[str, Any]:
    """Arguments of `plot` for the shape of its mark."""
    look = mark(index)
    colour = environment_colour(index)
    inside = SURFACE if look.hollow else colour
    return {"marker": look.marker, "markerfacecolor": inside, "markeredgecolor": colour}


def state_colour(state: str) -> str:
    """Placeholder for a state of the CPU; unknown states share the last colour."""
    index = STATES.index(state) if state in STATES else len(STATES) - 1
    return f"#2000{index:02x}"


def render(
    draw: Callable[[Figure], None], *, height: float, name: str, title: str, description: str
) -> str:
    """Draw on a figure `height` inches high and return an `<svg>` element for a page.

    `name` makes its ids unique in the page; `title` and `description` are read to those who
    cannot see it.
    """
    stream = io.StringIO()
    with mpl.rc_context({**_SETTINGS, "svg.hashsalt": name}), warnings.catch_warnings():
        # The page's own font has the glyph, whatever matplotlib's font lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        draw(figure)
        figure.savefig(stream, format="svg", metadata={"Date": None})
    return _for_page(stream.getvalue(), name, title, description)


def plain_axis(axes: Axes, labels: list[str]) -> None:
    """One labelled row per entry, the first on top, with a vertical grid."""
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.grid(axis="x", zorder=0)
    axes.set_axisbelow(True)


def note(axes: Axes, row: float, text: str) -> None:
    """Figures to the right of a row, outside the axes, where no mark can cover them."""
    axes.text(1.015, row, text, transform=axes.get_yaxis_transform(), va="center", fontsize=8.5)


def _for_page(svg: str, name: str, title: str, description: str) -> str:
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    view = re.search(r'viewBox="([^"]+)"', body)
    assert view is not None
    inside = body[body.index(">") + 1 :]
    inside = re.sub(r'\bid="', f'id="{name}-', inside)
    inside = re.sub(r"url\(#", f"url(#{name}-", inside)
    inside = re.sub(r'xlink:href="#', f'href="#{name}-', inside)
    inside = re.sub(r"font: ([\d.]+px) [^;\"]*", r"font-size: \1", inside)
    inside = re.sub(r"font-family: [^;\"]*;?", "", inside)
    inside = re.sub(r"#[0-9a-f]{6}", _property, inside)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{view[1]}" role="img" '
        f'aria-labelledby="{name}-title {name}-desc">\n'
        f'<title id="{name}-title">{escape(title)}</title>\n'
        f'<desc id="{name}-desc">{escape(description)}</desc>{inside.strip()}'
    )


def _property(match: re.Match[str]) -> str:
    colour = match[0]
    if colour in _ROLES:
        return f"var({_ROLES[colour]})"
    if colour.startswith("#1000"):
        return f"var(--environment-{int(colour[5:], 16)})"
    if colour.startswith("#2000"):
        return f"var(--state-{STATES[int(colour[5:], 16)]})"
    return colour
