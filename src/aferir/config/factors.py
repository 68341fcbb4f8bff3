"""Reads factors: lists of levels that vary parameters of workloads and environments."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from aferir.config.environments import EnvironmentTable, Written, specification
from aferir.config.fields import PARAMETER_REMEDY, Fields, is_parameter, is_table
from aferir.config.problems import Problems
from aferir.config.workloads import WorkloadTable, as_parameter, placeholders
from aferir.environments.base import Kind
from aferir.model.checking import Refused, read_value
from aferir.model.parameters import Field, names
from aferir.model.plan import EnvironmentSpec, HostLimits, Parameter
from aferir.model.units import format_size
from aferir.model.words import choose, kind_of, shown
from aferir.programs.base import Program, declared_by

MOST_FACTORS = 6
MOST_LEVELS = 64
PREFIX = "environment."
PINNED = PREFIX + "pinned"
"""Factor that keeps or removes the `pin` of environments; not one of their keys."""
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._+-]")
_TEXT_LEVEL = re.compile(r"[A-Za-z0-9._+-]{1,40}")


class Level(msgspec.Struct, frozen=True):
    """One level of a factor."""

    value: Parameter
    label: str
    """Level in the names of cells and variants: `threads=2`, `memory=1GiB`."""
    written: Written | None = None
    """Level as written, for a key of environments."""


class Factor(msgspec.Struct, frozen=True):
    """One factor: `environment.cpus` varies environments, `threads` varies workloads."""

    name: str
    levels: tuple[Level, ...]

    @property
    def field(self) -> str:
        """Key of environments that the factor varies; empty if it varies one of workloads."""
        return self.name.removeprefix(PREFIX) if self.name.startswith(PREFIX) else ""


Levels = tuple[tuple[Factor, Level], ...]


def read_factors(
    table: Mapping[str, object],
    *,
    programs: Mapping[str, Program[Any]],
    workloads: Sequence[WorkloadTable],
    environments: Sequence[EnvironmentTable],
    kinds: Mapping[str, Kind],
    problems: Problems,
) -> tuple[Factor, ...]:
    """Valid factors of the `[factors]` table."""
    table = _flat(table)
    if len(table) > MOST_FACTORS:
        problems.add("factors", f"there are {len(table)}", f"keep at most {MOST_FACTORS} factors")
        return ()
    fields = Fields(table, "factors", problems)
    keys: dict[str, Field] = {
        PREFIX + field.key: field for one in reversed(environments) for field in one.kind.keys
    }
    own = (name for rules in programs.values() for name in names(rules.parameters))
    in_braces = (name for w in workloads for name in sorted(placeholders(w, programs[w.program])))
    known = tuple(dict.fromkeys((*own, *in_braces)))
    elsewhere = {PREFIX + field.key for kind in kinds.values() for field in kind.keys} - {*keys}
    fields.only((*known, *keys, *elsewhere, PINNED))
    factors = []
    for name in table:
        if name in keys:
            levels = _environment_levels(fields, name, keys[name])
        elif name == PINNED:
            levels = _levels(fields, name)
            if not all(isinstance(level.value, bool) for level in levels):
                fields.wrong(name, "has a level that is no flag", "write `[true, false]`")
                continue
        elif name in known:
            _check_use(fields, name, programs, workloads)
            levels = _levels(fields, name, _declared(name, programs, workloads))
        else:
            if name in elsewhere and environments:
                fields.wrong(name, "is a key of no environment of this file", "remove it")
            continue
        if levels:
            factors.append(Factor(name, levels))
    return tuple(factors)


def _flat(table: Mapping[str, object]) -> dict[str, object]:
    """Factors without nesting: TOML reads an unquoted `environment.cpus` as nested tables."""
    inner = table.get(PREFIX[:-1])
    if not is_table(inner):
        return dict(table)
    rest = {key: value for key, value in table.items() if key != PREFIX[:-1]}
    return rest | {PREFIX + key: value for key, value in inner.items()}


def _check_use(
    fields: Fields,
    name: str,
    programs: Mapping[str, Program[Any]],
    workloads: Sequence[WorkloadTable],
) -> None:
    """Require that a factor varies some workload, and no parameter that a workload fixes."""
    knowing = [w for w in workloads if name in names(programs[w.program].parameters)]
    filled = [w for w in workloads if name in placeholders(w, programs[w.program])]
    if workloads and not knowing and not filled:
        every = {n for w in workloads for n in names(programs[w.program].parameters)}
        fields.wrong(name, "no workload of this file knows it", choose(name, sorted(every)))
    for workload in knowing:
        if name in workload.parameters:
            fields.wrong(name, f"is set by {workload.path} too", f"remove `{name}` there or here")


def _declared(
    name: str, programs: Mapping[str, Program[Any]], workloads: Sequence[WorkloadTable]
) -> Field | None:
    """Declaration of the parameter `name`, by the first workload's program that has it."""
    found = (f for w in workloads for f in declared_by(programs[w.program]))
    return next((field for field in found if field.key == name), None)


def _levels(fields: Fields, name: str, field: Field | None = None) -> tuple[Level, ...]:
    """Levels of a workload's parameter."""
    levels: list[Level] = []
    for place, written in enumerate(_list(fields, name), start=1):
        value = written if field is None else as_parameter(field, written)
        if not is_parameter(value) or (isinstance(value, str) and not _TEXT_LEVEL.fullmatch(value)):
            fields.wrong(f"{name}[{place}]", f"{shown(written)} is no level", PARAMETER_REMEDY)
            return ()
        of_bytes = name.endswith("_bytes")
        levels.append(Level(value, _label(name.removeprefix(PREFIX), value, of_bytes=of_bytes)))
    return _distinct(fields, name, levels)


def _environment_levels(fields: Fields, name: str, field: Field) -> tuple[Level, ...]:
    """Levels of a factor for an environment key, read like that key in a table."""
    levels: list[Level] = []
    for place, written in enumerate(_list(fields, name), start=1):
        key = f"{name}[{place}]"
        try:
            value = read_value(field, written)
        except Refused as refused:
            fields.wrong(key, refused.message, refused.remedy)
            continue
        if field.form == "list":
            value = "+".join(map(str, value))
        elif field.form == "text":
            value = str(written)
        label = _label(field.key, value, of_bytes=field.spelling == "size")
        levels.append(Level(value, label, Written(fields.at(key), written)))
    return _distinct(fields, name, levels)


def _list(fields: Fields, name: str) -> Sequence[object]:
    """Levels as written; empty, with an error added, if they are no list."""
    value = fields.table[name]
    if not isinstance(value, list) or not value:
        said = f"{shown(value)} is {kind_of(value)} without levels"
        fields.wrong(name, said, f"write `{name} = [1, 2]`")
        return ()
    if len(value) > MOST_LEVELS:
        fields.wrong(name, f"has {len(value)} levels", f"keep at most {MOST_LEVELS}")
        return ()
    return value


def _distinct(fields: Fields, name: str, levels: Sequence[Level]) -> tuple[Level, ...]:
    """Levels, if all have one type and different labels."""
    labels = [level.label for level in levels]
    if twice := next((label for label in labels if labels.count(label) > 1), ""):
        fields.wrong(name, f"names the level `{twice}` twice", "name each level once")
        return ()
    if len({type(level.value) for level in levels}) > 1:
        fields.wrong(name, "mixes levels of different types", "write all levels in one type")
        return ()
    return tuple(levels)


def _label(name: str, value: Parameter, *, of_bytes: bool) -> str:
    """Label of a level, with only characters that file names may have."""
    if isinstance(value, bool):
        return f"{name}={str(value).lower()}"
    if isinstance(value, int) and of_bytes:
        return f"{name}={format_size(value).replace(' ', '')}"
    if isinstance(value, float) and math.isfinite(value):
        return f"{name}={value!r}"
    return f"{name}={_NOT_IN_NAMES.sub('_', str(value))}"


def variant(
    environment: EnvironmentTable,
    chosen: Levels,
    *,
    kinds: Mapping[str, Kind],
    host: HostLimits,
    problems: Problems,
) -> EnvironmentSpec | None:
    """Specification of an environment with the `chosen` levels; None if it is wrong.

    It is named after the levels, as in `container[cpus=1]`.

    `pinned=true` keeps the CPUs that the environment is pinned to, `pinned=false` removes the
    pinning.
    """
    written = {f.field: level.written for f, level in chosen if level.written is not None}
    spec = specification(environment, written, kinds=kinds, host=host, problems=problems)
    if spec is None or not chosen:
        return spec
    pinned = [level.value for factor, level in chosen if factor.name == PINNED]
    if pinned and not spec.pin:
        problems.add(
            PINNED,
            f"`{environment.name}` names no CPUs that it could be pinned to",
            "add `pin = [0]` to the environment, with as many CPUs as it has",
        )
    name = f"{spec.name}[{','.join(level.label for _, level in chosen)}]"
    return msgspec.structs.replace(spec, name=name, pin=() if pinned == [False] else spec.pin)
