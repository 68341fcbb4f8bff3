"""One chart as a separate file, SVG or HTML, for light and dark mode."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

from aferir.errors import UsageError
from aferir.linux.journal import write_durably

ENDINGS = (".svg", ".html")


def check_picture_path(path: Path) -> None:
    """Refuse a path that `write_picture` could not write, before anything is computed."""
    if path.suffix not in ENDINGS:
        raise UsageError(
            f"{path}: a picture ends in {' or '.join(ENDINGS)}",
            remedy=f"name it {path.with_suffix('.svg') if path.name else 'picture.svg'}",
        )
    if not path.absolute().parent.is_dir():
        raise UsageError(
            f"{path}: there is no folder {path.parent}", remedy="make it, or name another"
        )


def write_picture(path: Path, svg: str, *, title: str, caption: str) -> None:
    """Write a chart with the colours of the report's page.

    Errors: OSError; UsageError for an ending other than .svg or .html.
    """
    check_picture_path(path)
    text = _page(svg, title, caption) if path.suffix == ".html" else _alone(svg)
    write_durably(path, text.encode())


def style(name: str) -> str:
    """One of the report's style sheets: `colours.css` or `page.css`."""
    return (Path(__file__).parent / "templates" / name).read_text(encoding="utf-8")


def _alone(svg: str) -> str:
    """Make an SVG self-contained, with the page's colours in a style element."""
    own = ":root { background: var(--surface); font-family: system-ui, sans-serif; }"
    rules = f"{style('colours.css')}{own}"
    return re.sub(r">", lambda _: f">\n<style>\n{rules}\n</style>", svg, count=1) + "\n"


def _page(svg: str, title: str, caption: str) -> str:
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width">\n<title>{escape(title)}</title>\n'
        f"<style>\n{style('colours.css')}{style('page.css')}</style>\n</head>\n<body>\n<h1>{escape(title)}</h1>\n"
        f'<p class="note">{escape(caption)}</p>\n<figure>{svg}</figure>\n</body>\n</html>\n'
    )
