"""Writes the reference pages of sections, environments and programs from their declarations."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from aferir.config.allocations import KubernetesTable, SlurmTable
from aferir.config.environments import EnvironmentKeys
from aferir.config.explain import Explain
from aferir.config.hosts import HostKeys
from aferir.config.sections import Experiment, Stop
from aferir.config.server import Server
from aferir.config.workloads import WorkloadKeys
from aferir.environments.base import Kind
from aferir.model.checking import bounds
from aferir.model.parameters import Field, default_text, fields
from aferir.model.units import format_size
from aferir.programs.base import Program, declared_by

_HEAD = """\
# Programs and their parameters

What may stand in a `[[workload]]` table besides [the keys of each](experiment-file.md#workload), by
`program`. Sizes may be written with a unit (`"2 GiB"`) or as bytes, durations as `"90 s"` or as
seconds. A parameter that is `needed` may come from a factor instead.

This page is written by `aferir schema --markdown`, and so is what an installed package adds;
`aferir schema` prints the same as a JSON Schema, [for editors](experiment-file.md#editors).
"""


_SECTIONS_HEAD = """\
# Keys of the sections

What may stand in each table of [an experiment file](experiment-file.md). An `[[environment]]` has
besides the [keys of its kind](environment-keys.md), and a `[[workload]]` the
[parameters of its program](programs.md).

This page is written by `aferir schema --markdown sections`.
"""
_SECTIONS: Mapping[str, type[msgspec.Struct]] = {
    "[experiment]": Experiment,
    "[stop]": Stop,
    "[server]": Server,
    "[explain]": Explain,
    "[[host]]": HostKeys,
    "[slurm]": SlurmTable,
    "[kubernetes]": KubernetesTable,
    "[[environment]]": EnvironmentKeys,
    "[[workload]]": WorkloadKeys,
}


_ENVIRONMENTS_HEAD = """\
# Keys of environments

What may stand in an `[[environment]]` table besides its `name` and its [`kind`](environments.md),
and as `"environment.KEY" = [...]` in `[factors]`. A key that a kind does not have is refused, as a
factor too.

This page is written by `aferir schema --markdown environments`, and so is what an installed package
adds.

| key | what may be written | default | meaning | kinds |
| --- | --- | --- | --- | --- |
"""


def sections() -> str:
    """Markdown with one table for each section."""
    return "\n".join(
        [
            _SECTIONS_HEAD,
            *(f"## `{name}`\n\n{_table('key', fields(keys))}" for name, keys in _SECTIONS.items()),
        ]
    )


def environments(kinds: Mapping[str, Kind]) -> str:
    """Markdown with one table, in which kinds that declare a key alike share a row."""
    rows: dict[str, list[str]] = {}
    for name, kind in kinds.items():
        for field in kind.keys:
            needed = msgspec.structs.replace(field, required=False)
            rows.setdefault(_row(needed).removesuffix(" |"), []).append(name)
    lines = (f"{row} | {_of_kinds(names, tuple(kinds))} |\n" for row, names in rows.items())
    return _ENVIRONMENTS_HEAD + "".join(lines) + _least_memory(kinds)


def _of_kinds(names: Sequence[str], every: Sequence[str]) -> str:
    others = [f"`{name}`" for name in every if name not in names]
    if len(others) < len(names):
        return " but ".join(filter(None, ("all", ", ".join(others))))
    return ", ".join(f"`{name}`" for name in names)


def _least_memory(kinds: Mapping[str, Kind]) -> str:
    least = min(kind.least_memory_bytes for kind in kinds.values())
    more = (
        f"{format_size(kind.least_memory_bytes)} for `{name}`"
        for name, kind in kinds.items()
        if kind.least_memory_bytes > least
    )
    return f"\nThe least memory is {', '.join((format_size(least), *more))}.\n"


def page(programs: Mapping[str, Program[Any]]) -> str:
    """Markdown with one section and one table for each program."""
    return "\n".join([_HEAD, *(_section(program) for program in programs.values())])


def _section(program: Program[Any]) -> str:
    kinds = "wherever programs run"
    if program.of_packages:
        kinds = "on the host, and in environments whose image gets its Debian packages"
    if program.kinds:
        kinds = "in environments of kind " + " or ".join(f"`{kind}`" for kind in program.kinds)
    said = f"{_described(program)} Runs {kinds}."
    return f"## `{program.name}`\n\n{said}\n\n{_table('parameter', declared_by(program))}"


def _table(called: str, declared: Sequence[Field]) -> str:
    """Table with a row for each key, under a column named `called`."""
    head = (f"| {called} | what may be written | default | meaning |", "| --- | --- | --- | --- |")
    return "\n".join([*head, *(_row(field) for field in declared), ""])


def _described(program: Program[Any]) -> str:
    """First line of the docstring of the module that declares the program."""
    module = sys.modules[program.parameters.__module__]
    first = (module.__doc__ or "").strip().partition("\n")[0]
    return first if first.endswith(".") else f"{first}."


def _row(field: Field) -> str:
    cells = (f"`{field.key}`", _allowed(field), _default(field), field.help)
    return f"| {' | '.join(map(_escaped, cells))} |"


def _allowed(field: Field) -> str:
    if field.form == "flag":
        return "`true`, `false`"
    if field.form == "word":
        return ", ".join(f"`{_literal(word)}`" for word in field.words)
    if field.form == "list" and field.item is not None:
        text = f", or one text with `{field.separator}` between them" if field.separator else ""
        return f"a list of {_items(field.item)}{text}"
    if field.form == "text":
        several = ", or a list of such texts" if field.separator else ""
        return f"text, e.g. `{_literal(field.example)}`{several}"
    return _amount(field)


def _items(item: Field) -> str:
    """What each item of a list may be, in the plural."""
    if item.form == "word":
        return f"any of {_allowed(item)}"
    if item.form == "text":
        return f"texts, e.g. `[{_literal(item.example)}]`"
    return _amount(item, plural="s")


def _amount(field: Field, plural: str = "") -> str:
    """Kind, bounds and unit of a number, a size or a duration."""
    kind = field.spelling or ("whole number" if field.form == "whole" else "number")
    unit = field.unit if not field.spelling else ""
    return " ".join(filter(None, (kind + plural, bounds(field), unit)))


def _default(field: Field) -> str:
    if field.required:
        return "needed"
    text = default_text(field)
    if field.default in (None, ()) or (field.default == "" and field.unset):
        return field.unset or text
    if field.form == "list" and not field.separator:
        return f"`[{text}]`"
    quoted = field.form in ("word", "text", "list") and not isinstance(field.default, int)
    return f"`{_literal(text) if quoted or field.spelling else text}`"


def _literal(value: object) -> str:
    """Text of a value as it is written in TOML."""
    return f'"{value}"' if isinstance(value, str) else str(value)


def _escaped(text: str) -> str:
    """Text for a field of a table, where a bar ends the field even within code (GFM, 4.10)."""
    return text.replace("|", "\\|")
