"""JSON Schema (draft 2020-12) of experiment files, for editors that complete and check them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from aferir.config.allocations import KubernetesTable, SlurmTable
from aferir.config.environments import MOST_ENVIRONMENTS, EnvironmentKeys
from aferir.config.explain import Explain
from aferir.config.factors import MOST_FACTORS, MOST_LEVELS, PREFIX
from aferir.config.hosts import MOST_HOSTS, HostKeys
from aferir.config.sections import MOST_WORKLOADS, Experiment, Stop
from aferir.config.server import MOST_IDLE, Server
from aferir.config.workloads import RESERVED, WorkloadKeys
from aferir.environments.base import Kind
from aferir.model import units
from aferir.model.parameters import Field, fields, spelled
from aferir.programs.base import Program, declared_by

_NUMBER = r"[0-9]+(\.[0-9]+)?\s*"
SIZE = rf"^\s*{_NUMBER}({'|'.join(units.SIZE_UNITS)})\s*$"
PRINTABLE_LINES = r"^[^\x00-\x08\x0b-\x1f\x7f]*$"
PRINTABLE = r"^[^\x00-\x1f\x7f]*$"
DURATION = "^(?=.*[0-9])" + "".join(rf"\s*({_NUMBER}{u})?" for u in units.DURATION_UNITS) + r"\s*$"


def value_schema(field: Field) -> dict[str, Any]:
    """Schema of the value of one key, with its description and default."""
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
    return _text(field)


def _number(field: Field) -> dict[str, Any]:
    number: dict[str, Any] = {"type": "integer" if field.form == "whole" else "number"}
    limits = {"minimum": field.least, "maximum": field.most, "exclusiveMinimum": field.above}
    number |= {name: limit for name, limit in limits.items() if limit is not None}
    if not field.spelling:
        return number
    spelled_out = {"type": "string", "pattern": SIZE if field.spelling == "size" else DURATION}
    return {"anyOf": [number, spelled_out]} if field.bare else spelled_out


def _text(field: Field) -> dict[str, Any]:
    usual = PRINTABLE_LINES if field.lines else PRINTABLE
    text = {"type": "string", "minLength": 1, "maxLength": field.longest}
    text["pattern"] = field.pattern or usual
    if field.separator:
        return {"anyOf": [text, {"type": "array", "items": text, "minItems": 1}]}
    if not field.quoted:
        return text
    word = {"type": ["string", "number"]}
    several = {"type": "array", "items": word, "minItems": 1}
    return {"anyOf": [text, several, {"type": "object", "additionalProperties": word}]}


def _list(field: Field, item: Field) -> dict[str, Any]:
    array = {"type": "array", "items": _of_form(item), "minItems": 1, "uniqueItems": True}
    if not field.separator:
        return array
    text: dict[str, Any] = {"type": "string"}
    if item.form == "word":
        one = f"({'|'.join(_literal(str(word)) for word in item.words)})"
        between = rf"\s*{_literal(field.separator)}\s*"
        text["pattern"] = f"^{one}({between}{one})*$"
    return {"anyOf": [array, text]}


def _literal(text: str) -> str:
    """Regular expression that matches the text literally.

    Only what ECMA-262 calls a syntax character is escaped, so `-` is not.
    """
    return re.sub(r"[\^$\\.*+?()[\]{}|]", r"\\\g<0>", text)


def _builtin(field: Field) -> Any:
    """Default as JSON; as text if Python's value has no JSON form."""
    if field.form in ("text", "list"):
        return spelled(field, field.default) or None
    return field.default


def document(programs: Mapping[str, Program[Any]], kinds: Mapping[str, Kind]) -> dict[str, Any]:
    """Schema of a whole experiment file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "aferir experiment",
        "description": "What is measured, where, how often: docs/reference/experiment-file.md",
        "type": "object",
        "additionalProperties": False,
        "required": ["experiment", "environment", "workload"],
        "properties": {
            "experiment": table(fields(Experiment)),
            "stop": {**table(fields(Stop)), **_EITHER},
            "server": _server(),
            "slurm": table(fields(SlurmTable)),
            "kubernetes": table(fields(KubernetesTable)),
            "host": {"type": "array", "maxItems": MOST_HOSTS, "items": table(fields(HostKeys))},
            "environment": _tables(_by("kind", _kinds(kinds)), MOST_ENVIRONMENTS),
            "workload": _tables(_by("program", _programs(programs)), MOST_WORKLOADS),
            "factors": _factors(programs, kinds),
            "explain": table(fields(Explain)),
        },
        "allOf": [_needed(key, programs) for key in _ever_needed(programs)],
    }


def table(
    declared: Sequence[Field], tag: Mapping[str, Any] = {}, *, described: str = ""
) -> dict[str, Any]:
    """Schema of a table with exactly the declared keys; `tag`: required keys and their schemas."""
    needed = [*tag, *(field.key for field in declared if field.required)]
    schema: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {**tag, **{field.key: value_schema(field) for field in declared}},
    }
    if needed:
        schema["required"] = needed
    return schema | ({"description": described} if described else {})


_RULE = ("min", "max", "interval_percent")
_EITHER: Mapping[str, Any] = {
    "dependentRequired": {key: [other for other in _RULE if other != key] for key in _RULE},
    "if": {"required": ["repetitions"]},
    "then": {"properties": dict.fromkeys(_RULE, False)},
}
"""Rule that a table has either `repetitions`, or all three keys of an adaptive rule."""


def _server() -> dict[str, Any]:
    schema = table(fields(Server))
    schema["properties"]["idle"]["maxItems"] = MOST_IDLE
    return schema


def _kinds(kinds: Mapping[str, Kind]) -> dict[str, dict[str, Any]]:
    common = fields(EnvironmentKeys)
    # Keys without a default in their kind have one that depends on the host: none is required.
    own = {
        name: [msgspec.structs.replace(field, required=False) for field in kind.keys]
        for name, kind in kinds.items()
    }
    return {name: table((*common, *own[name]), {"kind": {"const": name}}) for name in kinds}


def _programs(programs: Mapping[str, Program[Any]]) -> dict[str, dict[str, Any]]:
    """Schemas by program; no parameter is required, since a factor may set it: see `_needed`."""
    common = fields(WorkloadKeys)
    own = {
        name: [msgspec.structs.replace(field, required=False) for field in declared_by(program)]
        for name, program in programs.items()
    }
    made = {name: table((*common, *own[name]), {"program": {"const": name}}) for name in programs}
    for schema in made.values():
        schema["properties"]["name"]["not"] = {"const": RESERVED}
    return made


def _ever_needed(programs: Mapping[str, Program[Any]]) -> list[str]:
    found = (f.key for one in programs.values() for f in declared_by(one) if f.required)
    return list(dict.fromkeys(found))


def _needed(key: str, programs: Mapping[str, Program[Any]]) -> dict[str, Any]:
    """Schema that requires a parameter in the tables of its programs unless a factor sets it."""
    needing = [
        name
        for name, program in programs.items()
        if any(field.key == key and field.required for field in declared_by(program))
    ]
    one_of_them = {"properties": {"program": {"enum": needing}}, "required": ["program"]}
    factor = {"properties": {"factors": {"required": [key]}}, "required": ["factors"]}
    has_it = {"if": one_of_them, "then": {"required": [key]}}
    return {
        "if": {"not": factor},
        "then": {"properties": {"workload": {"items": has_it}}},
    }


def _by(key: str, tables: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Union of tables, told apart by `key`: an editor completes that key first, then the others."""
    return {
        "type": "object",
        "required": [key],
        "properties": {key: {"enum": list(tables)}},
        "allOf": [
            {"if": {"properties": {key: {"const": name}}, "required": [key]}, "then": schema}
            for name, schema in tables.items()
        ],
    }


def _tables(one: dict[str, Any], most: int) -> dict[str, Any]:
    return {"type": "array", "minItems": 1, "maxItems": most, "items": one}


def _factors(programs: Mapping[str, Program[Any]], kinds: Mapping[str, Kind]) -> dict[str, Any]:
    """Schema of all possible factors; whether a factor is used depends on the rest of the file."""
    levels: dict[str, list[dict[str, Any]]] = {}
    for program in programs.values():
        for field in declared_by(program):
            levels.setdefault(field.key, []).append(_of_form(field))
    inner: dict[str, list[dict[str, Any]]] = {"pinned": [{"type": "boolean"}]}
    for kind in kinds.values():
        for field in kind.keys:
            inner.setdefault(field.key, []).append(_of_form(field))
    lists = {key: _levels(forms) for key, forms in levels.items()}
    environments = {key: _levels(forms) for key, forms in inner.items()}
    dotted = {f"{PREFIX}{key}": schema for key, schema in environments.items()}
    return {
        "type": "object",
        "additionalProperties": False,
        "maxProperties": MOST_FACTORS,
        "properties": {
            **lists,
            **dotted,
            PREFIX[:-1]: {
                "type": "object",
                "additionalProperties": False,
                "properties": environments,
            },
        },
    }


def _levels(forms: Sequence[dict[str, Any]]) -> dict[str, Any]:
    different: list[dict[str, Any]] = []
    for form in forms:
        if form not in different:
            different.append(form)
    level = different[0] if len(different) == 1 else {"anyOf": different}
    return {
        "type": "array",
        "items": level,
        "minItems": 1,
        "maxItems": MOST_LEVELS,
        "uniqueItems": True,
    }
