"""Checks a table of parameters against the struct that declares them, and reports all errors."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from aferir.model import units
from aferir.model.parameters import UNIT_EXAMPLES, Field, example, fields, names, spelled
from aferir.model.words import choose, kind_of, printable, shown

_PARSERS: Mapping[str, Callable[[str], float]] = {
    "size": units.parse_size,
    "duration": units.parse_duration,
}
_Values = TypeVar("_Values", bound=msgspec.Struct)


class Wrong(msgspec.Struct, frozen=True):
    """One error in a table of parameters."""

    key: str
    """Key with the error; empty if the error concerns the whole table."""
    message: str
    remedy: str


class Refused(ValueError):
    """A value does not fit its field; `message` says why and `remedy` what to write instead."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


def convert(
    struct: type[_Values], table: Mapping[str, object]
) -> tuple[_Values | None, tuple[Wrong, ...]]:
    """Convert a table to the struct that it describes; if it has errors, to None and the errors."""
    known = names(struct)
    values, wrong = read_fields(struct, table)
    strangers = [
        Wrong(printable(key), "is not a key of this table", choose(key, known))
        for key in table
        if key not in known
    ]
    wrong = (*strangers, *wrong)
    return (None, wrong) if wrong else (struct(**values), ())


def read_fields(
    struct: type[msgspec.Struct], table: Mapping[str, object]
) -> tuple[dict[str, Any], tuple[Wrong, ...]]:
    """Valid values of the table by attribute, and the errors; unknown keys are ignored."""
    values: dict[str, Any] = {}
    wrong = []
    for field in fields(struct):
        if field.key not in table:
            if field.required:
                words = choose("", map(str, field.words)) if field.words else ""
                wrong.append(Wrong(field.key, "is missing", words or f"add `{example(field)}`"))
            continue
        try:
            values[field.attribute] = read_value(field, table[field.key])
        except Refused as refused:
            wrong.append(Wrong(field.key, refused.message, refused.remedy))
    return values, tuple(wrong)


def check(struct: type[msgspec.Struct], table: Mapping[str, object]) -> tuple[Wrong, ...]:
    """All errors in a table of parameters that `struct` declares."""
    return convert(struct, table)[1]


def read_value(field: Field, value: object) -> Any:
    """Convert the value of one field. Errors: Refused."""
    if field.form == "flag":
        if isinstance(value, bool):
            return value
        raise Refused(f"{shown(value)} is {kind_of(value)}", "write `true` or `false`")
    if field.form in ("whole", "number"):
        return _number(field, value)
    if field.form == "word":
        return _word(field, value)
    return _list(field, value) if field.form == "list" else _text(field, value)


def bounds(field: Field) -> str:
    """Range of a number in words, e.g. `from 1 to 4096`; empty if there are no bounds."""
    if field.above is not None:
        end = "" if field.most is None else f" and up to {spelled(field, field.most)}"
        return f"above {spelled(field, field.above)}{end}"
    if field.least is not None and field.most is not None:
        return f"from {spelled(field, field.least)} to {spelled(field, field.most)}"
    if field.least is not None:
        return f"of at least {spelled(field, field.least)}"
    return "" if field.most is None else f"up to {spelled(field, field.most)}"


def _number(field: Field, written: object) -> int | float:
    kind = field.spelling or ("whole number" if field.form == "whole" else "number")
    value = _without_unit(field, written) if field.spelling else written
    remedy = " ".join(filter(None, (f"write a {kind}", bounds(field))))
    fits = isinstance(value, int if field.form == "whole" else (int, float))
    if isinstance(value, bool) or not fits:
        raise Refused(f"{shown(written)} is {kind_of(written)}, not a {kind}", remedy)
    assert isinstance(value, int | float)
    if not _within(field, value):
        raise Refused(f"{shown(written)} is out of range", remedy)
    return value if field.form == "whole" else float(value)


def _without_unit(field: Field, written: object) -> object:
    """Number of bytes or seconds that a text with its unit denotes. Errors: Refused."""
    remedy = f'write a number and a unit, e.g. `{field.key} = "{UNIT_EXAMPLES[field.spelling]}"`'
    if isinstance(written, str):
        try:
            return _PARSERS[field.spelling](written)
        except ValueError as reason:
            message = f"{shown(written)} is not a {field.spelling}: {reason}"
            raise Refused(message, remedy) from None
    if field.bare:
        return written
    raise Refused(f"{shown(written)} is {kind_of(written)}, not a {field.spelling}", remedy)


def _within(field: Field, value: float) -> bool:
    """True if a number is finite and within the bounds; NaN fails every comparison."""
    return (
        (field.least is None or field.least <= value)
        and (field.most is None or value <= field.most)
        and (field.above is None or field.above < value)
        and value - value == 0
    )


def _word(field: Field, value: object) -> str | int:
    for word in field.words:
        if word == value and type(word) is type(value):
            return word
    written = value if isinstance(value, str) else ""
    raise Refused(f"{shown(value)} is not known here", choose(written, map(str, field.words)))


def _text(field: Field, value: object) -> Any:
    value = quoted(value) if field.quoted else joined(value, field.separator)
    if not isinstance(value, str):
        raise Refused(f"{shown(value)} is {kind_of(value)}, not text", f"write `{example(field)}`")
    shown_text = value.replace("\n", "").replace("\t", "") if field.lines else value
    if not value.strip() or len(value) > field.longest or not shown_text.isprintable():
        message = f"{shown(value)} is empty, too long or holds control characters"
        raise Refused(message, f"use 1 to {field.longest} printable characters")
    if field.parse is None:
        return value
    try:
        return field.parse(value)
    except ValueError as reason:
        raise Refused(f"{shown(value)} {reason}", f"write e.g. `{example(field)}`") from None


def quoted(value: object) -> object:
    """A list or a table quoted as shell text; other values are returned unchanged."""
    if isinstance(value, Mapping):
        value = [f"{name}={one}" for name, one in value.items()]
    if isinstance(value, list | tuple) and all(isinstance(one, str | int | float) for one in value):
        return shlex.join(map(str, value))
    return value


def joined(value: object, separator: str) -> object:
    """A list of texts as one text with `separator` between them; other values are unchanged."""
    if separator and isinstance(value, list) and all(isinstance(one, str) for one in value):
        return separator.join(value)
    return value


def _item(field: Field, text: str) -> object:
    """An item of a list that was written as text: a number if the items are numbers."""
    if field.form in ("whole", "number"):
        with contextlib.suppress(ValueError):
            return int(text) if field.form == "whole" else float(text)
    return text


def _list(field: Field, value: object) -> tuple[Any, ...]:
    assert field.item is not None
    if field.separator and isinstance(value, str):
        value = [_item(field.item, part.strip()) for part in value.split(field.separator)]
    if value in ([], ()):
        raise Refused(f"{shown(value)} is empty", f"write `{example(field)}`, or remove the key")
    if not isinstance(value, list | tuple):
        raise Refused(
            f"{shown(value)} is {kind_of(value)}, not a list", f"write `{example(field)}`"
        )
    items = tuple(read_value(field.item, item) for item in value)
    if len(set(items)) != len(items):
        raise Refused(f"{shown(value)} names one of them twice", "name each once")
    return items
