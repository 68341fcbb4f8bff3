"""Encodes records as lines of JSON, and handles lines that a crash left incomplete. Pure."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable

import msgspec

from aferir.model.record import Record

_DURATION = "duration_s"

Key = tuple[str, int, bool]
"""Cell, repetition, warm-up: unique within a run."""


def decode_line(line: bytes) -> Record:
    """The record of one line. Errors: ValueError if it is damaged.

    A record has at most one duration of its program, in seconds: two would count twice.
    """
    record = msgspec.json.decode(line, type=Record)
    units = [s.unit for s in record.samples if s.metric == _DURATION and s.side == "program"]
    if units not in ([], ["s"], [""]):
        raise ValueError(f"{_DURATION} of {record.cell} has the units {units}, not one in s")
    return record


def key_of(record: Record) -> Key:
    """Key that identifies a record within its run."""
    return (record.cell, record.repetition, record.warmup)


def encode_line(record: Record) -> bytes:
    """One line with its newline. Errors: ValueError for a value that JSON cannot represent."""
    for sample in record.samples:
        if not math.isfinite(sample.value):
            raise ValueError(f"{sample.metric} of {record.cell} is {sample.value}")
    for series in record.series:
        places = [place for place in series.at if isinstance(place, float)]
        if not all(map(math.isfinite, (*series.values, *places))):
            raise ValueError(f"{series.metric} of {record.cell} is not finite throughout")
    return msgspec.json.encode(record) + b"\n"


def decode_lines(content: bytes) -> tuple[list[Record], int]:
    """All complete records, and the number of bytes that they occupy.

    Each line is synced before the next one is written, so only the last one can be incomplete: if
    it lacks its newline, or is unreadable, it is ignored. Errors: ValueError with the line's number
    if an earlier line is unreadable or a key occurs twice.
    """
    lines = [line + b"\n" for line in content.split(b"\n")[:-1]]
    records: list[Record] = []
    used = 0
    for number, line in enumerate(lines, start=1):
        try:
            record = decode_line(line)
        except (msgspec.MsgspecError, ValueError, RecursionError) as reason:
            if number == len(lines):
                break
            raise ValueError(f"line {number} is damaged: {reason}") from None
        records.append(record)
        used += len(line)
    _refuse_duplicates(records)
    return records, used


def refuse_strangers(records: Iterable[Record], cells: Container[str]) -> None:
    """Refuse a record of a cell that the plan does not have. Errors: ValueError with its line."""
    for number, record in enumerate(records, start=1):
        if record.cell not in cells:
            raise ValueError(_is_strange(number, record.cell))


def salvage(content: bytes, cells: Container[str]) -> tuple[bytes, list[str]]:
    """Valid lines of these cells, one for each key, and a message about every other line.

    An incomplete last line is ignored and not reported: see `decode_lines`.
    """
    kept: list[bytes] = []
    problems: list[str] = []
    seen: set[Key] = set()
    lines = content.split(b"\n")[:-1]
    for number, line in enumerate(lines, start=1):
        try:
            key = key_of(decode_line(line))
        except (msgspec.MsgspecError, ValueError, RecursionError) as reason:
            if number < len(lines):
                problems.append(f"line {number} is damaged: {reason}")
            continue
        if key in seen:
            problems.append(_repeats(number, key))
            continue
        if key[0] not in cells:
            problems.append(_is_strange(number, key[0]))
            continue
        seen.add(key)
        kept.append(line + b"\n")
    return b"".join(kept), problems


def _refuse_duplicates(records: Iterable[Record]) -> None:
    seen: set[Key] = set()
    for number, record in enumerate(records, start=1):
        key = key_of(record)
        if key in seen:
            raise ValueError(_repeats(number, key))
        seen.add(key)


def _repeats(number: int, key: Key) -> str:
    cell, repetition, _ = key
    return f"line {number} repeats repetition {repetition} of {cell}"


def _is_strange(number: int, cell: str) -> str:
    return f"line {number} is of {cell}, which is no cell of the plan"
