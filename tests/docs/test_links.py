"""Every link of a page leads to a file of the repository, and to a heading that is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.checkout import ROOT

_TREES = ("docs", "native", "reference", "requirements", "experiments")
PAGES = sorted(
    {*ROOT.glob("*.md"), *(page for tree in _TREES for page in ROOT.glob(f"{tree}/**/*.md"))}
)
_PARSER = MarkdownIt("commonmark").enable("table")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    assert dead_links(page) == []


def dead_links(page: Path) -> list[str]:
    """Targets of links and pictures that are no file, or no heading of that file."""
    dead = []
    for target in targets(page.read_text(encoding="utf-8")):
        parts = urlsplit(target)
        if parts.scheme:
            continue
        path = (page.parent / unquote(parts.path)).resolve() if parts.path else page
        if not path.exists() or not path.is_relative_to(ROOT):
            dead.append(target)
        elif parts.fragment and path.suffix == ".md":
            found = anchors(path.read_text(encoding="utf-8"))
            dead += [target] if unquote(parts.fragment) not in found else []
    return dead


def targets(content: str) -> Iterator[str]:
    """Targets of the links and pictures of a page."""
    for token in _inline(content):
        for name in ("href", "src"):
            if token.attrGet(name):
                yield str(token.attrGet(name))


def anchors(content: str) -> set[str]:
    """Anchors of the headings as GitHub and the site make them; the second of a name ends in -1."""
    found: dict[str, int] = {}
    tokens = _PARSER.parse(content)
    for heading, text in pairwise(tokens):
        if heading.type == "heading_open":
            words = "".join(
                child.content
                for child in text.children or ()
                if child.type in ("text", "code_inline")
            )
            name = re.sub(r"[^\w\- ]", "", words.lower()).strip().replace(" ", "-")
            found[name] = found.get(name, -1) + 1
    return {f"{name}-{n}" if n else name for name, last in found.items() for n in range(last + 1)}


def _inline(content: str) -> Iterator[Token]:
    for token in _PARSER.parse(content):
        yield from token.children or ()


def test_dead_links_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.docs.test_links.ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(
        "# `A` title, twice\n\n# A title twice\n\n"
        "[1](#a-title-twice) [2](#a-title-twice-1) [3](#b)\n"
        "[4](page.md#a-title-twice) [5](no.md) ![6](no.png) [7](../etc)\n",
        encoding="utf-8",
    )
    assert dead_links(page) == ["#b", "no.md", "no.png", "../etc"]
