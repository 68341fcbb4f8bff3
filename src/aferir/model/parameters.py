"""Declares each parameter once: in a frozen struct, with type, bounds, unit and a line of help.

    class Copy(msgspec.Struct, frozen=True, kw_only=True):
        pattern: Annotated[Literal["copy", "triad"], told("what is moved")]
        threads: Annotated[int, whole("threads of the program", 1, 4096)] = 1
        array_bytes: Annotated[int, size("of one array", 2**20, 2**40)] | None = None

Everything else is derived from the struct: the check of a table (`aferir.model.checking`), the
options of the command line (`aferir.cli.parameters`), the reference page and the JSON Schema
(`aferir.config.schema`). A field without a default is required; if the default is None, `unset`
describes what happens without a value.
"""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec

from aferir.model import units

Form = Literal["flag", "whole", "number", "word", "text", "list"]
Spelling = Literal["", "size", "duration"]
"""Unit in which a number may be written: a size in bytes or a duration in seconds."""

UNIT_EXAMPLES: Mapping[str, str] = {"size": "1 GiB", "duration": "90 s"}
_LONGEST = 200


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """One field of a struct as declared."""

    key: str
    """Name of the field in files; `attribute` is the name in Python, which cannot be e.g. `class`.
    """
    attribute: str
    form: Form
    help: str = ""
    required: bool = False
    default: Any = None
    unset: str = ""
    """What it means that the parameter is not set, if its default is None."""
    least: float | None = None
    most: float | None = None
    above: float | None = None
    """Exclusive lower bound; `least` is the inclusive one."""
    words: tuple[str | int, ...] = ()
    unit: str = ""
    spelling: Spelling = ""
    bare: bool = True
    """True if a size or a duration may be written as a number without its unit."""
    longest: int = _LONGEST
    pattern: str = ""
    example: str = ""
    parse: Callable[[str], Any] | None = None
    """Converts the text to the value; raises ValueError with a reason if it cannot."""
    lines: bool = False
    """True if the text may contain line breaks and tabs."""
    quoted: bool = False
    """True if the text may also be written as a list or table, whose items are quoted as for a
    shell.
    """
    separator: str = ""
    """Separator of the items of a list that may be written as text, and of a text that may be
    written as a list; empty: in one form only.
    """
    item: Field | None = None
    """Declaration of the items of a list."""


def told(
    help: str,  # noqa: A002 - what argparse calls it
    *,
    words: Sequence[str] = (),
    unset: str = "",
) -> msgspec.Meta:
    """Declare a flag or one of several words, listed in a Literal or, for `str`, in `words`."""
    return msgspec.Meta(description=help, extra={"words": tuple(words), "unset": unset})


def whole(
    help: str,  # noqa: A002
    least: int | None = None,
    most: int | None = None,
    *,
    unit: str = "",
    unset: str = "",
) -> msgspec.Meta:
    """Declare a whole number from `least` to `most`, both included."""
    return msgspec.Meta(ge=least, le=most, description=help, extra={"unit": unit, "unset": unset})


def number(
    help: str,  # noqa: A002
    least: float | None = None,
    most: float | None = None,
    *,
    above: float | None = None,
    unit: str = "",
    unset: str = "",
) -> msgspec.Meta:
    """Declare a finite number with least <= it <= most, or above < it <= most."""
    extra = {"unit": unit, "unset": unset}
    if above is not None:
        return msgspec.Meta(gt=above, le=most, description=help, extra=extra)
    return msgspec.Meta(ge=least, le=most, description=help, extra=extra)


def size(
    help: str,  # noqa: A002
    least: int,
    most: int,
    *,
    bare: bool = True,
    unset: str = "",
    key: str = "",
) -> msgspec.Meta:
    """Declare a whole number of bytes, written as `2 GiB`; if `bare`, also as a number.

    `key` is the name in files if it differs from the field's name, as for `memory_bytes`.
    """
    extra = {"spelling": "size", "bare": bare, "unit": "B", "unset": unset}
    extra |= {"key": key} if key else {}
    return msgspec.Meta(ge=least, le=most, description=help, extra=extra)


def duration(
    help: str,  # noqa: A002
    least: float,
    most: float,
    *,
    bare: bool = True,
    unset: str = "",
) -> msgspec.Meta:
    """Declare a number of seconds, written as `1 h 30 min`; if `bare`, also as a number."""
    extra = {"spelling": "duration", "bare": bare, "unit": "s", "unset": unset}
    return msgspec.Meta(ge=least, le=most, description=help, extra=extra)


def text(
    help: str,  # noqa: A002
    example: str,
    *,
    parse: Callable[[str], Any] | None = None,
    pattern: str = "",
    longest: int = _LONGEST,
    lines: bool = False,
    quoted: bool = False,
    separator: str = "",
    unset: str = "",
) -> msgspec.Meta:
    """Declare printable text, or the value that `parse` makes of it; one line unless `lines`.

    `pattern` is a regular expression that editors check the text against; `parse` may be stricter.
    If `quoted`, `["a b", "c"]` means the same as `"'a b' c"`, and a table is accepted too. With a
    `separator` a list means the same as its items with that between them.
    """
    extra = {
        "example": example,
        "parse": parse,
        "pattern": pattern,
        "longest": longest,
        "lines": lines,
        "quoted": quoted,
        "separator": separator,
        "unset": unset,
    }
    return msgspec.Meta(description=help, extra=extra)


def several(help: str, *, separator: str = "", unset: str = "") -> msgspec.Meta:  # noqa: A002
    """Declare a tuple, written as a list, or as text with `separator` between its items."""
    return msgspec.Meta(description=help, extra={"separator": separator, "unset": unset})


def internal() -> msgspec.Meta:
    """Declare a field of any type, which is no key of a file: it has no description."""
    return msgspec.Meta(extra={"parse": _no_file_says_it})


def _no_file_says_it(_: str) -> object:
    raise ValueError("is no key")


@functools.cache
def fields(struct: type[msgspec.Struct]) -> tuple[Field, ...]:
    """Every field of the struct in the order of its declaration.

    Errors: TypeError if a field has a type that a file cannot represent.
    """
    return tuple(_field(one) for one in msgspec.structs.fields(struct))


def names(struct: type[msgspec.Struct]) -> tuple[str, ...]:
    """Keys of all fields."""
    return tuple(field.key for field in fields(struct))


def default_text(field: Field) -> str:
    """Default as it would be written in a file, or the meaning of an absent value."""
    if field.default is None:
        return field.unset
    return spelled(field, field.default)


def spelled(field: Field, value: Any) -> str:
    """A value of the field as it is written in a file."""
    if field.form == "flag":
        return "true" if value else "false"
    if field.form == "list" and field.item is not None:
        return (field.separator or ", ").join(
            spelled(field.item, one) for one in value
        ) or field.unset
    if field.spelling == "size":
        return units.format_size(value)
    if field.spelling == "duration":
        return units.format_duration(value) if value else "0"
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def example(field: Field) -> str:
    """Example line for a file, e.g. `threads = 1`."""
    if field.form == "word":
        said = f'"{field.words[0]}"' if isinstance(field.words[0], str) else str(field.words[0])
    elif field.form == "list" and field.item is not None:
        return f"{field.key} = [{example(field.item).partition(' = ')[2]}]"
    elif field.form == "flag":
        said = "true"
    elif field.form == "text":
        said = f'"{field.example}"'
    else:
        said = f'"{UNIT_EXAMPLES[field.spelling]}"' if field.spelling else f"{field.least or 1:g}"
    return f"{field.key} = {said}"


def _field(declared: msgspec.structs.FieldInfo) -> Field:
    default = None if declared.required else declared.default
    if declared.default_factory is not msgspec.NODEFAULT:
        default = declared.default_factory()
    return msgspec.structs.replace(
        _of_type(declared.encode_name, declared.type),
        attribute=declared.name,
        required=declared.required,
        default=default,
    )


def _of_type(key: str, declared: Any) -> Field:
    """Field that a type and its annotations describe."""
    said: dict[str, Any] = {"key": key, "attribute": key}
    while True:
        kind, arguments = typing.get_origin(declared), typing.get_args(declared)
        if kind is Annotated:
            for meta in arguments[1:]:
                said |= {"help": meta.description or "", **(meta.extra or {})}
                said |= {"least": meta.ge, "most": meta.le, "above": meta.gt}
            declared = arguments[0]
        elif kind in (types.UnionType, typing.Union):
            declared = next(one for one in arguments if one is not types.NoneType)
        else:
            break
    if kind is Literal:
        return Field(form="word", **said | {"words": arguments})
    if said.get("words"):
        return Field(form="word", **said)
    if kind is tuple:
        return Field(form="list", item=_of_type(key, arguments[0]), **said)
    form = _FORMS.get(declared, "text" if said.get("parse") else None)
    if form is None:
        raise TypeError(f"the parameter `{key}` has a type that no file can hold: {declared}")
    return Field(form=form, **said)


_FORMS: Mapping[Any, Form] = {bool: "flag", int: "whole", float: "number", str: "text"}
