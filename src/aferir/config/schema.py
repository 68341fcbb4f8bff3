"""JSON Schema (draft 2020-12) of what may be written, so that editors complete and check it."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from aferir.model import units
from aferir.model.parameters import Field, fields, spelled

_NUMBER = r"[0-9]+(\.[0-9]+)?\s*"
SIZE = rf"^\s*{_NUMBER}({'|'.join(units.SIZE_UNITS)})\s*$"
DURATION = rf"^\s*({_NUMBER}({'|'.join(units.DURATION_UNITS)})\s*)+$"


def properties(struct: type[msgspec.Struct]) -> dict[str, dict[str, Any]]:
    """One schema for each key that the struct declares."""
    return {field.key: value_schema(field) for field in fields(struct)}


def required(struct: type[msgspec.Struct]) -> list[str]:
    """The keys that have to be there."""
    return [field.key for field in fields(struct) if field.required]


def value_schema(field: Field) -> dict[str, Any]:
    """What may be written for one key, with what it means and its default."""
    schema = _of_form(field)
    if field.help:
        schema["description"] = field.help
    if field.default is not None:
        default = _builtin(field)
        if default is not None:
            schema["default"] = default
    return schema


def _of_form(field: Field) -> dict[str, Any]:
    if field.form == "flag":
        return {"type": "boolean"}
    if field.form == "word":
        return {"enum": list(field.words)}
    if field.form in ("whole", "number"):
        return _number(field)
    if field.form == "list" and field.item is not None:
        return _list(field, field.item)
    schema: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": field.longest}
    return schema | ({"pattern": field.pattern} if field.pattern else {})


def _number(field: Field) -> dict[str, Any]:
    number: dict[str, Any] = {"type": "integer" if field.form == "whole" else "number"}
    limits = {"minimum": field.least, "maximum": field.most, "exclusiveMinimum": field.above}
    number |= {name: limit for name, limit in limits.items() if limit is not None}
    if not field.spelling:
        return number
    spelled_out = {"type": "string", "pattern": SIZE if field.spelling == "size" else DURATION}
    return {"anyOf": [number, spelled_out]} if field.bare else spelled_out


def _list(field: Field, item: Field) -> dict[str, Any]:
    array = {"type": "array", "items": _of_form(item), "minItems": 1, "uniqueItems": True}
    if not field.separator:
        return array
    text: dict[str, Any] = {"type": "string"}
    if item.form == "word":
        one = f"({'|'.join(re.escape(str(word)) for word in item.words)})"
        between = rf"\s*{re.escape(field.separator)}\s*"
        text["pattern"] = f"^{one}({between}{one})*$"
    return {"anyOf": [array, text]}


def _builtin(field: Field) -> Any:
    """The default as JSON; as text where Python's value is one of ours."""
    if field.form in ("text", "list"):
        return spelled(field, field.default) or None
    return field.default
