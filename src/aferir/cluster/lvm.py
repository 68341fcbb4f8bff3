"""LVM volumes on one disk, read from its metadata without activating anything on this machine.

Source: LVM2, lib/format_text (label, physical volume header, metadata area and its text).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec

from aferir.errors import UsageError

_SECTOR = 512
_LABELS = 4
_MAGIC = b" LVM2 x[5A%r0N*>"
_MOST_TEXT = 16 << 20
_WORD = re.compile(r'\s+|#[^\n]*|([{}\[\]=,])|"((?:[^"\\]|\\.)*)"|([^\s{}\[\]=,"#]+)')
_MOST_DEPTH = 12

Section = dict[str, Any]


class Volume(msgspec.Struct, frozen=True, kw_only=True):
    """One logical volume, as consecutive pieces of the disk, in bytes."""

    name: str
    pieces: tuple[tuple[int, int], ...]
    """Start, relative to the physical volume, and length of each piece."""
    missing: str = ""
    """Why the volume cannot be read from this disk alone; "" if it can."""


def is_physical_volume(stream: BinaryIO, start: int) -> bool:
    """Whether a physical volume begins at byte `start`."""
    return _label(stream, start) is not None


def volumes(stream: BinaryIO, start: int) -> tuple[Volume, ...]:
    """All logical volumes of the group, in the order of the metadata.

    Errors: UsageError if there is no metadata, or it cannot be parsed.
    """
    label = _label(stream, start)
    text = _metadata(stream, start, label) if label is not None else ""
    if not text:
        raise UsageError("the metadata of its LVM volumes is on another disk, or damaged")
    try:
        return _volumes(parse(text), _own_id(stream, label or 0))
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise UsageError(f"the metadata of its LVM volumes cannot be read: {error}") from None


def parse(text: str) -> Section:
    """Parse LVM's text format: `key = value`, `name { ... }`. Errors: ValueError."""
    words: list[tuple[str, str]] = []
    place = 0
    while place < len(text):
        found = _WORD.match(text, place)
        if found is None:
            raise ValueError(f"`{text[place : place + 20]}` is none of its words")
        place = found.end()
        mark, quoted, bare = found.groups()
        if mark or bare:
            words.append(("", mark or bare))
        elif quoted is not None:
            words.append(("text", quoted))
    return _section(iter([*words, ("", "}")]), 0)


def _section(words: Iterator[tuple[str, str]], depth: int) -> Section:
    found: Section = {}
    if depth > _MOST_DEPTH:
        raise ValueError("it is nested too deeply")
    for kind, word in words:
        if not kind and word == "}":
            return found
        _, sign = next(words, ("", ""))
        if sign == "{":
            found[word] = _section(words, depth + 1)
        elif sign == "=":
            found[word] = _value(words)
        else:
            raise ValueError(f"nothing is said of `{word}`")
    raise ValueError("it ends in the middle")


def _value(words: Iterator[tuple[str, str]]) -> object:
    kind, word = next(words, ("", ""))
    if kind or word != "[":
        return word if kind else _whole(word)
    values: list[object] = []
    for kind, word in words:
        if not kind and word == "]":
            return values
        if kind or word != ",":
            values.append(word if kind else _whole(word))
    raise ValueError("a list has no end")


def _whole(word: str) -> object:
    return int(word) if re.fullmatch(r"-?\d{1,18}", word) else word


def _label(stream: BinaryIO, start: int) -> int | None:
    """Offset of the physical volume's header, from the label in one of the first sectors."""
    for number in range(_LABELS):
        at = start + number * _SECTOR
        stream.seek(at)
        sector = stream.read(_SECTOR)
        if sector[:8] == b"LABELONE" and sector[24:32] == b"LVM2 001" and len(sector) == _SECTOR:
            return at + int(struct.unpack_from("<I", sector, 20)[0])
    return None


def _own_id(stream: BinaryIO, header: int) -> str:
    stream.seek(header)
    return stream.read(32).decode("ascii", "replace")


def _metadata(stream: BinaryIO, start: int, header: int) -> str:
    """Text of the first metadata area, which is a ring buffer."""
    stream.seek(header + 40)
    pairs = struct.unpack("<32Q", stream.read(256).ljust(256, b"\0"))
    areas = list(zip(pairs[::2], pairs[1::2], strict=True))
    data_ends = next((place for place, one in enumerate(areas) if one == (0, 0)), len(areas))
    for offset, size in areas[data_ends + 1 :]:
        if (offset, size) == (0, 0):
            return ""
        stream.seek(start + offset)
        area = stream.read(_SECTOR)
        if area[4:20] != _MAGIC or len(area) < _SECTOR:
            continue
        place, length = struct.unpack_from("<QQ", area, 40)
        if not (_SECTOR <= place < size and 0 < length <= min(size, _MOST_TEXT)):
            continue
        stream.seek(start + offset + place)
        text = stream.read(min(length, size - place))
        if len(text) < length:
            stream.seek(start + offset + _SECTOR)
            text += stream.read(length - len(text))
        return text.rstrip(b"\0").decode("utf-8", "replace")
    return ""


def _volumes(told: Section, own_id: str) -> tuple[Volume, ...]:
    [group] = [one for one in told.values() if isinstance(one, dict) and "extent_size" in one]
    extent = int(group["extent_size"]) * _SECTOR
    known = {
        name: int(one["pe_start"]) * _SECTOR
        for name, one in group["physical_volumes"].items()
        if str(one["id"]).replace("-", "") == own_id
    }
    return tuple(
        _volume(name, one, known, extent)
        for name, one in group.get("logical_volumes", {}).items()
        if "VISIBLE" in one.get("status", [])
    )


def _volume(name: str, told: Section, known: dict[str, int], extent: int) -> Volume:
    pieces = []
    segments = [one for one in told.values() if isinstance(one, dict) and "extent_count" in one]
    for segment in sorted(segments, key=lambda one: int(one["start_extent"])):
        stripes = segment.get("stripes", [])
        if segment.get("type") != "striped" or len(stripes) != 2:
            return Volume(name=name, pieces=(), missing=f"it is of type {segment.get('type')}")
        if stripes[0] not in known:
            return Volume(name=name, pieces=(), missing="a part of it is on another disk")
        start = known[stripes[0]] + int(stripes[1]) * extent
        pieces.append((start, int(segment["extent_count"]) * extent))
    return Volume(name=name, pieces=tuple(pieces))
