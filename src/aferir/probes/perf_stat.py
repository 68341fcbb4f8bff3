"""Parses the counts of `perf stat` in any of its three output formats (perf-stat(1)).

`command` asks for the best one: `-j` in the locale `C`. Output of other runs is accepted in every
format: with -I, -A, -r and per socket or core, counts of one event are added up, as are those of
the core types of a hybrid processor. Ambiguous numbers, and counts of several control groups, are
refused.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

from aferir.errors import AferirError

_SEPARATORS = (",", ";", "\t", "|", ":")
_EVENT = re.compile(
    r"(?:(?P<pmu>[\w.-]+)/)?(?P<name>[A-Za-z][\w.-]*)/?(?::?(?P<mode>[a-zA-Z]*))?/?"
)
_PLAIN = re.compile(r"\d{1,20}(?:\.\d{1,12})?")
# Columns that may precede the value: the time of -I, and the CPU or socket (-A, --per-socket, ...).
_BEFORE = re.compile(
    r"(?:\s*\d+\.\d{9}\s*)?"
    r"(?:(?:^|\x00)(?:CPU\d+|S\d+(?:-[DLCN]\w+)*|N\d+|D\d+|C\d+|cluster\S+)(?:\x00\s*\d+)?)?"
)
_SIGNS = ".,'\u2019"
_NOT = ("<not counted>", "<not supported>")
_ROW = re.compile(
    r"\s*(?:\d+[.,]\d{9}\s+)?(?:(?:CPU\d+|S\d+\S*|N\d+)\s+(?:\d+\s+)?)?"
    r"(?P<value>\d[\d.,'\u2019\u00a0\u202f\u2009]*)"
    r"\s+(?:(?:msec|Joules|ns)\s+)?(?P<event>[a-z][\w:./-]*)(?:\s+\([a-z]+\))?(?P<rest>|\s.*)$"
)
_TIME = re.compile(
    r"\s*(\d[\d.,'\u2019\u00a0\u202f]*)\s+(?:\+- \S+ )?seconds (?:time elapsed|user|sys)"
)


class PerfStatError(AferirError):
    """Output of perf is ambiguous."""


def command(events: Sequence[str], program: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Command line of `perf stat`, and variables that make its output unambiguous."""
    words = ["perf", "stat", "-j", "-e", ",".join(events), "--", *program]
    return words, {"LC_ALL": "C"}


def parse(text: str) -> dict[str, float]:
    """Counts by event with its modifier, e.g. `cycles:u`; uncounted events are omitted.

    Errors: PerfStatError if a number or an event is ambiguous.
    """
    found: dict[str, float] = {}
    lines = text.splitlines()
    rows = [row for line in lines for row in _from_json(line)]
    rows = rows or list(_from_columns(lines)) or list(_from_table(lines))
    for event, value in rows:
        name = _normal(event)
        found[name] = found.get(name, 0.0) + value
    return found


def cycles(counts: dict[str, float]) -> tuple[float, float] | None:
    """User and system cycles of a program; None if they were not both counted.

    `cycles` without a modifier includes both, so that one of `cycles:u` and `cycles:k` is
    sufficient.
    """
    user, system, both = (counts.get(f"cycles{suffix}") for suffix in (":u", ":k", ""))
    if user is None and both is not None and system is not None:
        user = both - system
    if system is None and both is not None and user is not None:
        system = both - user
    return None if user is None or system is None else (user, system)


def _normal(event: str) -> str:
    """Name of an event without its core type, as in `cpu_core/cycles/u` or `cycles [cpu_core]`."""
    found = _EVENT.fullmatch(re.sub(r" \[[\w.-]+\]$", "", event))
    if found is None:
        return event
    mode = "".join(letter for letter in "uk" if letter in (found["mode"] or ""))
    name = "cycles" if found["name"] == "cpu-cycles" else found["name"]
    return f"{name}:{mode}" if len(mode) == 1 else name


def _from_json(line: str) -> Iterator[tuple[str, float]]:
    if not line.lstrip().startswith("{"):
        return
    try:
        fields: Any = json.loads(line)
    except (ValueError, RecursionError):
        return
    event, value = str(fields.get("event", "")), str(fields.get("counter-value", ""))
    if fields.get("cgroup"):
        raise _several_groups()
    if event and value and value not in _NOT:
        yield event, _plain(value)


def _from_columns(lines: Sequence[str]) -> Iterator[tuple[str, float]]:
    separator = next((one for one in _SEPARATORS if any(_is_row(x, one) for x in lines)), "")
    for line in lines if separator else ():
        columns = [column.strip() for column in line.split(separator)]
        place = _value_at(columns)
        if place is None:
            continue
        if not _BEFORE.fullmatch("\x00".join(columns[:place])):
            raise PerfStatError(
                f"`{line[:60]}` may be a count in another locale", remedy="run perf with LC_ALL=C"
            )
        if not _is_run_time(columns[place + 3 :]):
            raise _several_groups()
        if columns[place] not in _NOT:
            yield columns[place + 2], _plain(columns[place])


def _is_row(line: str, separator: str) -> bool:
    return _value_at([column.strip() for column in line.split(separator)]) is not None


def _value_at(columns: Sequence[str]) -> int | None:
    """Column of the value: unit and event follow it, and only the event has letters."""
    for place in range(len(columns) - 4):
        value, unit, event, after = columns[place : place + 4]
        is_value = value in _NOT or _PLAIN.fullmatch(value)
        if is_value and not unit[:1].isdigit() and _is_event(event) and after:
            return place
    return None


def _is_event(text: str) -> bool:
    return _EVENT.match(text) is not None and re.fullmatch(r"[SCDNL]\d+|CPU\d+", text) is None


def _is_run_time(columns: Sequence[str]) -> bool:
    """Whether the counter's run time follows the event, directly or after its variance (-r)."""
    after = columns[1:] if columns and columns[0].endswith("%") else columns
    return bool(after) and after[0].isdecimal()


def _from_table(lines: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Events in the format for people, without the total times at its end."""
    rows = [found for line in lines if (found := _ROW.match(line)) and found["event"] != "seconds"]
    if not rows:
        return
    times = [found[1] for line in lines if (found := _TIME.match(line))]
    decimal = _decimal_sign([*times, *(row["value"] for row in rows)])
    grouping = {sign for row in rows for sign in _repeated(row["value"])}
    for row in rows:
        if row["rest"].strip()[:1] not in ("", "#", "("):
            raise _several_groups()
        yield row["event"], _number(row["value"], decimal, grouping)


def _decimal_sign(numbers: Sequence[str]) -> str:
    """Decimal sign of the numbers; "" if none has decimals."""
    signs = set()
    for number in numbers:
        found = re.fullmatch(r"(\d+(?:[^\d]\d{3})*)([.,])(\d+)", number)
        if found and (len(found[3]) != 3 or (found[2] in ".," and re.search(r"\d{4}", found[1]))):
            signs.add(found[2])
    if len(signs) > 1:
        raise PerfStatError("its numbers are of two locales", remedy="run perf with LC_ALL=C")
    return next(iter(signs), "")


def _repeated(number: str) -> set[str]:
    """Separators of groups of digits: characters that occur more than once in a number."""
    signs = re.findall(r"\D", number.rstrip(_SIGNS))
    return {sign for sign in signs if signs.count(sign) > 1}


def _number(text: str, decimal: str, grouping: set[str]) -> float:
    """Parse a number of a table. Errors: PerfStatError if its decimal sign is ambiguous."""
    text = text.rstrip(_SIGNS)
    whole, _, part = text.partition(decimal) if decimal else (text, "", "")
    signs = set(re.findall(r"\D", whole))
    digits = re.sub(r"\D", "", whole)
    grouped = re.fullmatch(r"\d{1,3}(?:\D\d{3})*|\d+", whole)
    doubtful = not decimal and signs & {".", ","} and not signs <= grouping
    if len(signs) > 1 or not grouped or doubtful or (part and not part.isdecimal()):
        raise PerfStatError(
            f"`{text}` may be one of two numbers", remedy="run perf with LC_ALL=C, and -j"
        )
    return float(f"{digits}.{part or 0}")


def _plain(text: str) -> float:
    """Parse a number in the format for programs. Errors: PerfStatError if it is malformed."""
    if not _PLAIN.fullmatch(text) or not math.isfinite(float(text)):
        raise PerfStatError(f"`{text[:40]}` is no count", remedy="run perf with LC_ALL=C, and -j")
    return float(text)


def _several_groups() -> PerfStatError:
    return PerfStatError(
        "the counts are of control groups, or in columns that are not known",
        remedy="count one program: perf stat -j -e EVENTS -- COMMAND",
    )
