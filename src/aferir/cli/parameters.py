"""Turns the parameters of a program into options of a command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

import msgspec

from aferir.errors import UsageError
from aferir.model.checking import Wrong, bounds, convert
from aferir.model.parameters import Field, default_text, fields

_Values = TypeVar("_Values", bound=msgspec.Struct)


def add_options(
    add_to: argparse.ArgumentParser | argparse._ArgumentGroup,
    struct: type[msgspec.Struct],
    *,
    leave: Collection[str] = (),
) -> None:
    """Declare an option for each parameter except those in `leave`.

    An option that is not given leaves its parameter unset.
    """
    for field in fields(struct):
        if field.key in leave:
            continue
        if field.form == "flag":
            add_to.add_argument(
                option(field.key),
                dest=field.key,
                action=argparse.BooleanOptionalAction,
                default=argparse.SUPPRESS,
                help=_help(field),
            )
        else:
            add_to.add_argument(
                option(field.key),
                dest=field.key,
                default=argparse.SUPPRESS,
                metavar=_metavar(field),
                help=_help(field),
            )


def add_document(parser: argparse.ArgumentParser) -> None:
    """Declare `--parameters`, by which an experiment passes all parameters at once."""
    parser.add_argument(
        "--parameters",
        metavar="JSON",
        help="all parameters as one JSON document instead of by options; -: from standard input",
    )


def read_options(
    struct: type[_Values],
    options: argparse.Namespace,
    given: Mapping[str, object] | None = None,
) -> _Values:
    """Parameters from the options, and from `given` in addition.

    Errors: UsageError with all errors in them.
    """
    chosen = vars(options)
    if chosen.get("parameters") is not None:
        return _read_document(struct, chosen["parameters"])
    table = {
        field.key: _value(field, chosen[field.key])
        for field in fields(struct)
        if chosen.get(field.key) is not None
    }
    values, wrong = convert(struct, {**table, **(given or {})})
    if values is None:
        raise _refusal(wrong)
    return values


def complain(wrong: Sequence[Wrong]) -> None:
    """Raise the errors in combinations of parameters, if any. Errors: UsageError."""
    if wrong:
        raise _refusal(wrong)


def _refusal(wrong: Sequence[Wrong]) -> UsageError:
    lines = [f"{option(one.key)}: {one.message}; {one.remedy}" for one in wrong]
    return UsageError("\n  ".join(lines), remedy="see --help")


def _read_document(struct: type[_Values], document: str) -> _Values:
    content = sys.stdin.read() if document == "-" else document
    try:
        return msgspec.json.decode(content, type=struct)
    except (msgspec.DecodeError, UnicodeError) as error:
        remedy = "this is how aferir itself starts it; people write options"
        raise UsageError(f"--parameters: {error}", remedy=remedy) from None


def words(struct: type[msgspec.Struct], key: str) -> tuple[str, ...]:
    """Permitted values of a parameter that is one of several words."""
    return next(tuple(map(str, field.words)) for field in fields(struct) if field.key == key)


def option(key: str) -> str:
    """Name of a parameter's option on the command line, with hyphens for underscores."""
    return f"--{key.replace('_', '-')}"


def _value(field: Field, text: object) -> object:
    """Convert the text of an option to the value that an experiment file would contain."""
    if not isinstance(text, str):
        return text
    if field.form == "list" and field.item is not None:
        separator = field.separator or ","
        return [_value(field.item, part.strip()) for part in text.split(separator)]
    numeric = field.form in ("whole", "number") or any(isinstance(one, int) for one in field.words)
    if not numeric:
        return text
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def _metavar(field: Field) -> str:
    if field.form == "word":
        return "{" + ",".join(map(str, field.words)) + "}"
    if field.form == "list":
        return "N,…" if field.item and field.item.form == "number" else "NAME,…"
    if field.form == "text":
        return "TEXT"
    return {"B": "SIZE", "s": "S"}.get(field.unit, "N")


def _help(field: Field) -> str:
    said = [field.help]
    if field.form in ("whole", "number") and bounds(field):
        said.append(bounds(field))
    if field.required:
        said.append("needed")
    elif field.default is not None or field.unset:
        said.append(f"default: {default_text(field)}")
    return f"{said[0]} ({'; '.join(said[1:])})".replace("%", "%%") if said[1:] else said[0]
