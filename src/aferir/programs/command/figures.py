"""Figures that a program prints or writes: where each is found, and how it is parsed.

A figure is written as `NAME=KIND:WHERE`, e.g. `requests_rps=regex:([0-9.]+) requests per second`.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

import msgspec

from aferir.errors import ProgramError
from aferir.linux.cpu_limit import cpu_limit
from aferir.model.record import Better, Sample

Kind = Literal["regex", "json", "csv", "last"]
Which = Literal["only", "first", "last"]
"""Which of several matches is the figure; with `only`, several matches are an error."""

_SPEC = re.compile(
    r"(?P<name>[a-z][a-z0-9_]{0,59})"
    r"(?:\((?P<said>[^()]{1,40})\))?"
    r"=(?P<kind>[a-z]+)(?:-(?P<which>first|last))?"
    r"(?:@(?P<file>[^:]+))?"
    r"(?::(?P<where>.*))?",
    re.DOTALL,
)
_FORM = "write it as NAME=regex:EXPRESSION, NAME=json:a.b[0], NAME=csv:COLUMN or NAME=last"
_UNITS = {"s": "s", "bytes": "B", "bps": "B/s", "rps": "1/s", "percent": "%", "hz": "Hz", "w": "W"}
"""Unit of a figure by the last part of its name: `latency_s` is in s."""
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(-?\d+)\]")
_SEARCH_S = 2.0
"""Limit of the CPU time in s of one search. Unless the expression backtracks, searching all of an
output (256 KiB are kept) takes 0.02 s.
"""


class FigureSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One figure: its name, and where it is found."""

    name: str
    kind: Kind
    where: str = ""
    """Regular expression, path in JSON or column of CSV, depending on `kind`."""
    file: str = ""
    """File that the program writes; "": its standard output."""
    which: Which = "only"
    unit: str = "1"
    better: Better = ""


def read_spec(text: str) -> FigureSpec:
    """Parse a figure such as `rate_rps(higher)=regex:EXPRESSION`. Errors: ValueError."""
    found = _SPEC.fullmatch(text)
    if found is None or found["kind"] not in _WAYS:
        raise ValueError(f"{text!r} is no figure; {_FORM}")
    kind: Kind = next(known for known in _WAYS if known == found["kind"])
    where = found["where"] or ""
    if _WAYS[kind].is_told_where != bool(where):
        raise ValueError(f"{text!r} does not say where the figure is; {_FORM}")
    _WAYS[kind].check(where)
    unit, better = _said(found["name"], found["said"] or "")
    which: Which = "first" if found["which"] == "first" else "only"
    if found["which"] == "last":
        which = "last"
    return FigureSpec(
        name=found["name"],
        kind=kind,
        where=where,
        file=found["file"] or "",
        which=which,
        unit=unit,
        better=better,
    )


def read_figures(specs: tuple[FigureSpec, ...], texts: Mapping[str, str | None]) -> list[Sample]:
    """A sample of each figure; `texts` has the output under "" and files under their names.

    Errors: ProgramError if a figure is missing, is not a number, or is found several times.
    """
    return [_sample(spec, texts.get(spec.file)) for spec in specs]


def _check_expression(expression: str) -> None:
    try:
        groups = re.compile(expression).groups
    except re.error as error:
        raise ValueError(f"{expression!r} is no regular expression: {error}") from None
    if groups > 1:
        raise ValueError(
            f"{expression!r} has {groups} groups; keep the one that holds the figure, and write "
            "(?:...) for the others"
        )


def _said(name: str, said: str) -> tuple[str, Better]:
    """Unit and direction, from the text in brackets after the name."""
    unit, better = _UNITS.get(name.rpartition("_")[2], "1"), ""
    for word in filter(None, (part.strip() for part in said.split(","))):
        if word in ("lower", "higher"):
            better = word
        else:
            unit = word
    return unit, "lower" if better == "lower" else "higher" if better == "higher" else ""


def _sample(spec: FigureSpec, text: str | None) -> Sample:
    place = f"the file `{spec.file}`" if spec.file else "its output"
    if text is None:
        raise ProgramError(
            f"the figure `{spec.name}` is to be in {place}, which the program did not write",
            remedy="name the file as it is in the working folder",
        )
    found = _found(spec, text, place)
    if not found:
        raise ProgramError(
            f"the figure `{spec.name}` is not in {place}: {_excerpt(text)}",
            remedy="run the program by hand, and compare what it prints with the figure's "
            f"`{spec.kind}:{spec.where}`",
        )
    if len(found) > 1 and spec.which == "only":
        raise ProgramError(
            f"the figure `{spec.name}` is in {place} {len(found)} times: "
            f"{', '.join(found[:4])}{' ...' if len(found) > 4 else ''}",
            remedy=f"narrow it down, or write {spec.kind}-first or {spec.kind}-last",
        )
    chosen = found[-1 if spec.which == "last" else 0]
    try:
        value = float(chosen)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ProgramError(
            f"the figure `{spec.name}` is {chosen[:60]!r}, no number",
            remedy="let the expression enclose the number alone",
        )
    return Sample(spec.name, value, spec.unit, better=spec.better)


def _found(spec: FigureSpec, text: str, place: str) -> list[str]:
    """All values of a figure in a text. Errors: ProgramError if the search does not end."""
    try:
        with cpu_limit(_SEARCH_S):
            return list(_WAYS[spec.kind].values(spec.where, text))
    except TimeoutError:
        raise ProgramError(
            f"the search for the figure `{spec.name}` in {place} was ended after {_SEARCH_S:g} s "
            f"of CPU time: {spec.kind}:{spec.where} matches the same text in too many ways",
            remedy="repeat no group that repeats itself: ([0-9.]+) in place of (([0-9]+.?)+)",
        ) from None


def _of_expression(expression: str, text: str) -> Iterator[str]:
    for match in re.finditer(expression, text, re.MULTILINE):
        yield match[1 if match.re.groups else 0] or ""


def _of_last_line(_: str, text: str) -> Iterator[str]:
    lines = text.strip().splitlines()
    yield from _NUMBER.findall(lines[-1])[-1:] if lines else ()


def _of_json(path: str, text: str) -> Iterator[str]:
    """Values at a path in the text if it is one JSON document, else in each line that is JSON."""
    try:
        documents = [json.loads(text)]
    except (ValueError, RecursionError):
        documents = [read for line in text.splitlines() if (read := _json(line)) is not None]
    for document in documents:
        value = document
        for step in _STEP.finditer(path.removeprefix("$")):
            key, index = step.groups()
            try:
                value = value[key] if key is not None else value[int(index)]
            except (KeyError, IndexError, TypeError):
                break
        else:
            yield json.dumps(value) if not isinstance(value, str) else value


def _json(line: str) -> object:
    try:
        return json.loads(line) if line.lstrip()[:1] in ("{", "[") else None
    except (ValueError, RecursionError):
        return None


def _of_csv(column: str, text: str) -> Iterator[str]:
    # Lines may end as a progress bar's do; what is no CSV (a field above 128 KiB) has no columns.
    with contextlib.suppress(csv.Error):
        for row in csv.DictReader(io.StringIO(text, newline=""), skipinitialspace=True):
            if (value := row.get(column)) is not None:
                yield value


def _excerpt(text: str) -> str:
    last = text.strip().splitlines()[-1:] or ["it is empty"]
    shown = "".join(c if c.isprintable() else "?" for c in last[0])
    return shown if len(shown) <= 120 else f"{shown[:117]}..."


class _Way(msgspec.Struct, frozen=True, kw_only=True):
    """One way in which a figure is found in a text."""

    values: Callable[[str, str], Iterator[str]]
    """Finds all values; takes `FigureSpec.where` and a text, which may be malformed."""
    check: Callable[[str], None] = lambda _: None
    """Checks `FigureSpec.where`. Errors: ValueError if it is invalid."""
    is_told_where: bool = True


_WAYS: Mapping[Kind, _Way] = {
    "regex": _Way(values=_of_expression, check=_check_expression),
    "json": _Way(values=_of_json),
    "csv": _Way(values=_of_csv),
    "last": _Way(values=_of_last_line, is_told_where=False),
}
