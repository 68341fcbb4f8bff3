"""Code blocks of the documentation, with what HTML comments before them tell the runner.

Marks, each in a comment of its own directly before the block:

    <!-- not run: REASON -->       the block is not executed by `make docs-test`
    <!-- first: COMMANDS -->       shell commands that precede the block, such as making ./bench
    <!-- exit code: N, M -->       the last command of the block ends with one of these, any other
                                   with one of these or 0
    <!-- read as: NAME -->         a TOML block of another kind of file: see `tables.READERS`
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import msgspec
from markdown_it import MarkdownIt

from tests.checkout import ROOT

LANGUAGES = frozenset({"c", "console", "json", "markdown", "python", "sh", "text", "toml", "yaml"})
"""Languages that a block may name; each has one, so that pages are highlighted and checked."""
_COMMENT = re.compile(r"<!--\s*(not run|first|exit code|read as):\s*(.*?)\s*-->", re.DOTALL)
_GENERATED = ("docs/reference/verbs/", "docs/reference/c/")


class Block(msgspec.Struct, frozen=True):
    """A code block of a page."""

    page: str
    line: int
    language: str
    text: str
    not_run: str | None = None
    """Reason why the block is not executed; None if it is."""
    first: str = ""
    exit_codes: tuple[int, ...] = (0,)
    read_as: str = "experiment"

    @property
    def place(self) -> str:
        """Page and line, as an editor opens them."""
        return f"{self.page}:{self.line}"


def pages() -> list[Path]:
    """Pages with examples that were written by hand."""
    roots = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "native/README.md")]
    found = [*roots, *sorted((ROOT / "docs").rglob("*.md"))]
    return [one for one in found if not str(one.relative_to(ROOT)).startswith(_GENERATED)]


def blocks(page: str, content: str) -> list[Block]:
    """Code blocks of a page in order. Errors: ValueError for a mark with an unusable value."""
    found = []
    marks: dict[str, str] = {}
    for token in MarkdownIt("commonmark").parse(content):
        if token.type == "html_block":
            marks |= dict(_COMMENT.findall(token.content))
        elif token.type in ("fence", "code_block"):
            line = (token.map or [0])[0] + 1
            found.append(
                Block(
                    page=page,
                    line=line,
                    language=token.info,
                    text=token.content,
                    not_run=marks.get("not run"),
                    first=marks.get("first", ""),
                    exit_codes=tuple(map(int, marks.get("exit code", "0").split(","))),
                    read_as=marks.get("read as", "experiment"),
                )
            )
            marks = {}
        elif token.nesting == 0 or token.type.endswith("_open"):
            marks = {}
    return found


def blocks_of_all_pages() -> list[Block]:
    """Code blocks of all pages."""
    return [
        block
        for path in pages()
        for block in blocks(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))
    ]


def script(block: Block) -> str:
    """Shell script of a block: a `sh` block as it is, of a `console` block what follows `$ `."""
    if block.language != "console":
        return block.text
    lines, continued = [], False
    for line in block.text.splitlines():
        if continued or line.startswith("$ "):
            lines.append(line if continued else line[2:])
            continued = line.endswith("\\")
    return "\n".join(lines) + "\n"


def bash_arguments(block: Block) -> list[str]:
    """Arguments of a bash that runs a block, and ends at the first command that fails.

    A command with one of the block's exit codes has not failed: `set -e` would end there, too.
    """
    expected = " ".join(map(str, block.exit_codes))
    failed = f'code=$?; case " {expected} " in *" $code "*) ;; *) exit $code ;; esac'
    commands = f"trap {shlex.quote(failed)} ERR\n{block.first}\n{script(block)}"
    return ["-Euo", "pipefail", "-x", "-c", commands]


def aferir_commands(block: Block) -> Iterator[list[str]]:
    """Arguments of every simple `aferir` command in a block, without comments and redirections."""
    for line in re.sub(r"\\\n\s*", " ", script(block)).splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["sudo"]:
            words = words[1:]
        if words and words[0] in ("aferir", ".venv/bin/aferir"):
            end = next((i for i, word in enumerate(words) if word in (">", "|", "&", "||")), None)
            yield words[1:end]
