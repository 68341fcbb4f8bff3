"""Records as lines of JSON, and what a crash may have left of the last one. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec

from aferir.model.record import Record

Key = tuple[str, int, bool]
"""Cell, repetition, warm-up: what occurs once in a run."""


def key_of(record: Record) -> Key:
    """What identifies a record within its run."""
    return (record.cell, record.repetition, record.warmup)


def encode_line(record: Record) -> bytes:
    """One line, its newline included. ValueError for a sample that JSON cannot hold."""
    for sample in record.samples:
        if not math.isfinite(sample.value):
            raise ValueError(f"{sample.metric} of {record.cell} is {sample.value}")
    for series in record.series:
        places = [place for place in series.at if isinstance(place, float)]
        if not all(map(math.isfinite, (*series.values, *places))):
            raise ValueError(f"{series.metric} of {record.cell} is not finite throughout")
    return msgspec.json.encode(record) + b"\n"


def decode_lines(content: bytes) -> tuple[list[Record], int]:
    """All whole records, and how many bytes they take.

    Each line was synced before the next was begun, so that only the last one can be torn: one
    without its newline, or one that is unreadable with nothing after it, never happened.
    Errors: ValueError naming the line where one before the last is unreadable or comes twice.
    """
    lines = [line + b"\n" for line in content.split(b"\n")[:-1]]
    records: list[Record] = []
    used = 0
    for number, line in enumerate(lines, start=1):
        try:
            record = msgspec.json.decode(line, type=Record)
        except (msgspec.MsgspecError, UnicodeDecodeError) as reason:
            if number == len(lines):
                break
            raise ValueError(f"line {number} is damaged: {reason}") from None
        records.append(record)
        used += len(line)
    _refuse_duplicates(records)
    return records, used


def salvage(content: bytes) -> tuple[bytes, list[str]]:
    """All lines that are whole and come for the first time, and what is wrong with each other.

    A torn last line never happened, and is no damage: see `decode_lines`.
    """
    kept: list[bytes] = []
    problems: list[str] = []
    seen: set[Key] = set()
    lines = content.split(b"\n")[:-1]
    for number, line in enumerate(lines, start=1):
        try:
            key = key_of(msgspec.json.decode(line, type=Record))
        except (msgspec.MsgspecError, UnicodeDecodeError) as reason:
            if number < len(lines):
                problems.append(f"line {number} is damaged: {reason}")
            continue
        if key in seen:
            problems.append(_repeats(number, key))
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
