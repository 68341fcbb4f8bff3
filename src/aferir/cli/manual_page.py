"""Reads manual pages from the argument parsers, and writes them as roff and as Markdown. Pure.

Written here and not with `argparse.HelpFormatter`, whose layout differs between versions of Python:
pages that are kept in the repository must be the same from each of them.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from itertools import groupby

import msgspec

from aferir import RELEASED


class Option(msgspec.Struct, frozen=True):
    """One option or operand of a command: its notation and its meaning."""

    written: tuple[str, ...]
    """`("--to FOLDER",)`, `("-n N", "--repetitions N")`, or an operand's name."""
    meaning: str


class Page(msgspec.Struct, frozen=True):
    """Manual page of one command."""

    command: str
    """Full name of the command, such as `aferir cluster create`."""
    summary: str
    synopsis: str
    text: str
    """What the command does; indented lines are literal."""
    operands: tuple[Option, ...]
    options: tuple[Option, ...]
    verbs: tuple[str, ...]
    """Full names of the commands below this one."""

    @property
    def title(self) -> str:
        """Name of the manual page: `aferir-cluster-create`."""
        return self.command.replace(" ", "-")


def pages(parser: argparse.ArgumentParser, summary: str) -> list[Page]:
    """Manual pages of a parser and of all verbs below it, which must be declared already."""
    children = _children(parser)
    below = [one for child, help_ in children for one in pages(child, help_)]
    shown = [one for one in parser._actions if one.help != argparse.SUPPRESS]  # noqa: SLF001
    options = tuple(_option(parser, one) for one in shown if one.option_strings)
    operands = tuple(_option(parser, one) for one in shown if _is_operand(one))
    verb = "VERB ..." if children else ""
    words = [
        parser.prog,
        "[OPTION ...]",
        *(_operand(one) for one in shown if _is_operand(one)),
        verb,
    ]
    page = Page(
        command=parser.prog,
        summary=summary,
        synopsis=parser.usage or " ".join(filter(None, words)),
        text="\n\n".join(filter(None, ((parser.description or "").strip(), parser.epilog))),
        operands=operands,
        options=options,
        verbs=tuple(child.prog for child, _ in children),
    )
    return [page, *below]


def roff(page: Page, version: str) -> str:
    """Page for man(1), section 1, with the macros of man(7)."""
    title = page.title.upper()
    lines = [f'.TH {_quoted(title)} 1 {RELEASED} "aferir {version}" "User Commands"']
    lines += [".SH NAME", f"{_escaped(page.title)} \\- {_escaped(page.summary)}"]
    lines += [".SH SYNOPSIS", f".B {_quoted(page.synopsis)}"]
    lines += [".SH DESCRIPTION", *list(_roff_text(page.text))[1:]]  # a heading begins a paragraph
    for heading, options in (("OPERANDS", page.operands), ("OPTIONS", page.options)):
        if options:
            lines.append(f".SH {heading}")
        for one in options:
            written = ", ".join(f"\\fB{_escaped(name)}\\fR" for name in one.written)
            lines += [".TP", written, _start(_escaped(one.meaning))]
    other = page.verbs or (() if page.command == "aferir" else ("aferir",))
    if other:
        named = [f".BR {_quoted(name.replace(' ', '-'))} (1)" for name in other]
        lines += [".SH SEE ALSO", ",\n".join(named)]
    return "\n".join(lines) + "\n"


def markdown(found: Sequence[Page]) -> str:
    """One page of reference with a section for each command."""
    sections = [
        "# Verbs and their options\n",
        "Written by `aferir manual --markdown` from the argument parsers; `aferir VERB --help` and",
        "the manual pages (`man aferir-VERB`) say the same. Exit codes, JSON and environment",
        "variables: [command line](command-line.md).\n",
    ]
    for page in found:
        sections.append(f"## {page.command}\n\n```text\n{page.synopsis}\n```\n")
        sections += _markdown_text(page.text)
        options = (*page.operands, *page.options)
        if options:
            sections.append("| option | meaning |\n| --- | --- |")
            sections += map(_row, options)
            sections.append("")
    return "\n".join(sections).rstrip("\n") + "\n"


def _row(option: Option) -> str:
    written = ", ".join(f"`{_cell(name)}`" for name in option.written)
    return f"| {written} | {_plain(option.meaning)} |"


def _children(parser: argparse.ArgumentParser) -> list[tuple[argparse.ArgumentParser, str]]:
    found = []
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to its parts
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            said = {one.dest: one.help or "" for one in action._choices_actions}  # noqa: SLF001
            found += [(child, said.get(name, "")) for name, child in action.choices.items()]
    return found


def _is_operand(action: argparse.Action) -> bool:
    is_verb = isinstance(action, argparse._SubParsersAction)  # noqa: SLF001
    return not action.option_strings and not is_verb and action.help != argparse.SUPPRESS


def _value(action: argparse.Action) -> str:
    if action.nargs == 0:
        return ""
    default = "{" + ",".join(map(str, action.choices)) + "}" if action.choices else ""
    named = action.metavar or default or action.dest.upper()
    value = " ".join(named) if isinstance(named, tuple) else named
    return f"[{value}]" if action.nargs == "?" else value


def _operand(action: argparse.Action) -> str:
    value = _value(action)
    return {"*": f"[{value} ...]", "+": f"{value} ..."}.get(str(action.nargs), value)


def _option(parser: argparse.ArgumentParser, action: argparse.Action) -> Option:
    value = _operand(action)
    written = tuple(f"{name} {value}".strip() for name in action.option_strings) or (value,)
    meaning = parser._get_formatter()._expand_help(action) if action.help else ""  # noqa: SLF001
    return Option(written, " ".join(meaning.split()))


def _parts(text: str) -> Iterator[tuple[bool, list[str]]]:
    """Split text into blocks of indented lines, which are literal, and blocks of other lines."""
    for literal, lines in groupby(text.splitlines(), key=lambda line: line.startswith(" ")):
        yield literal, list(lines)


def _roff_text(text: str) -> Iterator[str]:
    for literal, lines in _parts(text):
        if literal:
            yield from (".PP", ".nf", *(_start(_escaped(line)) for line in lines), ".fi")
        else:
            for blank, paragraph in groupby(lines, key=lambda line: not line.strip()):
                if not blank:
                    yield from (".PP", *(_start(_escaped(line)) for line in paragraph))


def _markdown_text(text: str) -> Iterator[str]:
    for literal, lines in _parts(text):
        if literal:
            yield "\n".join(("```text", *(line[2:] for line in lines), "```\n"))
        else:
            yield _plain("\n".join(lines).strip("\n")) + "\n"


def _escaped(text: str) -> str:
    """Text with roff's special characters written out, and its hyphens as on the command line."""
    return text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")


def _start(line: str) -> str:
    """Protect a line with a leading dot, which roff would take for a request."""
    return f"\\&{line}" if line.startswith(".") else line


def _quoted(text: str) -> str:
    return '"' + _escaped(text).replace('"', '""') + '"'


def _plain(text: str) -> str:
    """Text in which Markdown finds nothing to format; words in backquotes stay code."""
    parts = re.split(r"(`[^`\n]*`)", text.replace("|", "\\|"))
    return "".join(
        part if part.startswith("`") else re.sub(r"([*_<\[])", r"\\\1", part) for part in parts
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
