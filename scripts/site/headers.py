#!/usr/bin/env python3
"""Writes the reference of the public C headers as Markdown and as manual pages of section 3.

Usage: scripts/site/headers.py. Reads native/include/aferir/*.h, whose form it relies on: a comment
belongs to the declaration below it, a comment behind a member to that member, and names that end in
an underscore are not for callers.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
HEADERS = ROOT / "native/include/aferir"
MARKDOWN = ROOT / "docs/reference/c"
MANUAL = ROOT / "share/man/man3"
_DECLARATION = re.compile(
    r"(?P<comment>/\*(?:(?!\*/).)*\*/\n)?"
    r"(?P<code>(?:struct|enum) \w+ \{\n.*?\n\};"
    r"|(?:static inline )?(?:const )?(?:struct \w+|[a-z]\w*)[ *]+\w+\([^;{]*\)(?:;| \{))",
    re.DOTALL,
)
_MEMBER = re.compile(r"^    (?P<code>[^/\n]+?[;,]?)\s*(?:/\*(?P<comment>.*?)\*/)?$", re.MULTILINE)
_NAME = re.compile(r"(?:struct|enum) (\w+) \{|[ *](\w+)\(")


class Declaration(NamedTuple):
    """A function or a type of a header."""

    name: str
    comment: str
    code: str
    members: tuple[tuple[str, str], ...]
    """Members of a type and what they hold; empty for a function."""


class Header(NamedTuple):
    """A header: what it is for, and what it declares."""

    name: str
    summary: str
    text: str
    declarations: tuple[Declaration, ...]


def read(path: Path) -> Header:
    """Declarations of a header for callers."""
    content = path.read_text(encoding="utf-8")
    head = _text(content[: content.index("*/")])
    summary, _, text = head.partition("\n\n")
    body = content[content.index("*/") + 2 :]
    declarations = tuple(
        one for one in map(_declaration, _DECLARATION.finditer(body)) if not one.name.endswith("_")
    )
    return Header(path.stem, summary.partition(": ")[2].rstrip("."), text, declarations)


def markdown(header: Header) -> str:
    """Page of the site."""
    lines = [
        f"# aferir/{header.name}.h\n",
        f"{header.summary[:1].upper()}{header.summary[1:]}. Written by `make reference` from the",
        "header; guarantees and examples: [librvec and librgap](../clock.md).\n",
    ]
    for one in header.declarations:
        lines.append(f"## {one.name}\n")
        if one.comment:
            lines.append(f"{_words(one.comment)}\n")
        if one.members:
            lines.append("| member | meaning |\n| --- | --- |")
            lines += [f"| `{code}` | {_words(comment)} |" for code, comment in one.members]
            lines.append("")
        else:
            lines.append(f"```c\n{one.code}\n```\n")
    return "\n".join(lines).rstrip("\n") + "\n"


def roff(header: Header, version: str, released: str) -> str:
    """Manual page of section 3, with the macros of man(7)."""
    lines = [
        f'.TH {header.name.upper()} 3 {released} "aferir {version}" "Library Functions"',
        f".SH NAME\n{header.name} \\- {_escaped(header.summary)}",
        f".SH SYNOPSIS\n.nf\n.B #include <aferir/{header.name}.h>\n",
        *(
            f".B {_quoted(line)}"
            for one in header.declarations
            if not one.members
            for line in one.code.splitlines()
        ),
        f".fi\n.PP\nLink with \\fB\\-l{header.name}\\fR.\n.SH DESCRIPTION\n.nf",
        *(_line(line) for line in header.text.splitlines()),
        ".fi",
    ]
    for one in header.declarations:
        if one.comment or one.members:
            lines.append(f".SS {one.name}")
            lines += [_line(line) for line in one.comment.splitlines()]
        for code, comment in one.members:
            lines.append(f".TP\n\\fB{_escaped(code)}\\fR")
            lines.append(_line(comment) if comment else "\\&")
    other = {"rvec": "rgap", "rgap": "rvec"}[header.name]
    lines.append(f".SH SEE ALSO\n.BR {other} (3),\n.BR aferir\\-clock (1)")
    return "\n".join(lines) + "\n"


def release() -> tuple[str, str]:
    """Version of the package and of the libraries, and its date."""
    content = (ROOT / "src/aferir/__init__.py").read_text(encoding="utf-8")
    found = re.search(r'__version__ = "(.*)"\nRELEASED = "(.*)"', content)
    assert found is not None
    return found[1], found[2]


def pages() -> dict[Path, str]:
    """Content of every page by its path."""
    found = {}
    for header in map(read, sorted(HEADERS.glob("*.h"))):
        found[MARKDOWN / f"{header.name}.md"] = markdown(header)
        found[MANUAL / f"{header.name}.3"] = roff(header, *release())
    return found


def _declaration(found: re.Match[str]) -> Declaration:
    code = found["code"]
    named = _NAME.search(code)
    assert named is not None
    comment = _text(found["comment"] or "")
    if named[1] is None:
        code = re.sub(r" \{$", ";", code)
        return Declaration(named[2], comment, code, ())
    members = tuple(
        (one["code"].rstrip(",;"), (one["comment"] or "").strip())
        for one in _MEMBER.finditer(code[: code.rindex("\n};")])
    )
    return Declaration(named[1], comment, code, members)


def _text(comment: str) -> str:
    """Text of a comment without its stars."""
    inside = comment.strip().removeprefix("/*").removesuffix("*/")
    return "\n".join(re.sub(r"^ \* ?", "", line) for line in inside.strip().splitlines()).strip()


def _words(text: str) -> str:
    """Text of a comment as Markdown: what is code there is code here."""
    return re.sub(r"(?<![`\w])(\w+_\w+)(?![`\w])", r"`\1`", text).replace("|", "\\|")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")


def _line(text: str) -> str:
    escaped = _escaped(text)
    return f"\\&{escaped}" if escaped.startswith(".") else escaped or "\\&"


def _quoted(text: str) -> str:
    return '"' + _escaped(text).replace('"', '""') + '"'


if __name__ == "__main__":
    for target, content in pages().items():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content, encoding="utf-8")
