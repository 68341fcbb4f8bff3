"""Factors: lists of levels that vary the workloads' parameters and the environments."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from aferir.config.clusters import MOST_NODES
from aferir.config.fields import PARAMETER_REMEDY, Fields, is_parameter, is_table
from aferir.config.problems import Problems
from aferir.config.sections import (
    MOST_TENANTS,
    check_cpus,
    check_memory,
)
from aferir.config.workloads import WorkloadTable, as_parameter
from aferir.environments.base import Kind
from aferir.model.parameters import Field, names
from aferir.model.plan import EnvironmentSpec, HostLimits, Parameter
from aferir.model.units import format_size
from aferir.model.words import choose, kind_of, shown
from aferir.programs.base import Program, declared_by

MOST_FACTORS = 6
MOST_LEVELS = 64
ENVIRONMENT_FIELDS = (
    *("cpus", "memory", "cpu_quota", "pinned", "huge_pages", "merge_pages", "tenants", "nodes"),
)
PREFIX = "environment."
_TEXT_LEVEL = re.compile(r"[A-Za-z0-9._+-]{1,40}")


class Factor(msgspec.Struct, frozen=True):
    """One factor; `environment.cpus` varies environments, `threads` the workloads that know it."""

    name: str
    levels: tuple[Parameter, ...]

    @property
    def field(self) -> str:
        """Field of the environments that it varies; empty for a parameter of workloads."""
        return self.name.removeprefix(PREFIX) if self.name.startswith(PREFIX) else ""


def read_factors(
    table: Mapping[str, object],
    *,
    programs: Mapping[str, Program[Any]],
    workloads: Sequence[WorkloadTable],
    environments: Sequence[Kind],
    host: HostLimits,
    problems: Problems,
) -> tuple[Factor, ...]:
    """The `[factors]` table, without the factors that are wrong."""
    table = _flat(table)
    if len(table) > MOST_FACTORS:
        problems.add("factors", f"there are {len(table)}", f"keep at most {MOST_FACTORS} factors")
        return ()
    fields = Fields(table, "factors", problems)
    environment_factors = tuple(PREFIX + field for field in ENVIRONMENT_FIELDS)
    known = tuple({name: None for rules in programs.values() for name in names(rules.parameters)})
    fields.only((*known, *environment_factors))
    factors = []
    for name in table:
        if name in environment_factors:
            levels = _environment_levels(fields, name, environments, host)
        elif name in known:
            _check_use(fields, name, programs, workloads)
            levels = _levels(fields, name, _declared(name, programs, workloads))
        else:
            continue
        if levels:
            factors.append(Factor(name, levels))
    return tuple(factors)


def _flat(table: Mapping[str, object]) -> dict[str, object]:
    """`environment.cpus = [1]` without quotes is a table in a table to TOML: the same is meant."""
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
    """A factor has to vary something, and nothing that a workload fixes."""
    knowing = [w for w in workloads if name in names(programs[w.program].parameters)]
    if workloads and not knowing:
        every = {n for w in workloads for n in names(programs[w.program].parameters)}
        fields.wrong(name, "no workload of this file knows it", choose(name, sorted(every)))
    for workload in knowing:
        if name in workload.parameters:
            fields.wrong(name, f"is set by {workload.path} too", f"remove `{name}` there or here")


def _declared(
    name: str, programs: Mapping[str, Program[Any]], workloads: Sequence[WorkloadTable]
) -> Field | None:
    """The parameter that a factor varies; the first where several workloads have one so called."""
    found = (f for w in workloads for f in declared_by(programs[w.program]))
    return next((field for field in found if field.key == name), None)


def _levels(fields: Fields, name: str, field: Field | None = None) -> tuple[Parameter, ...]:
    value = fields.table[name]
    if not isinstance(value, list) or not value:
        fields.wrong(
            name, f"{shown(value)} is {kind_of(value)} without levels", f"write `{name} = [1, 2]`"
        )
        return ()
    if len(value) > MOST_LEVELS:
        fields.wrong(name, f"has {len(value)} levels", f"keep at most {MOST_LEVELS}")
        return ()
    levels: list[Parameter] = []
    for place, written in enumerate(value, start=1):
        level = written if field is None else as_parameter(field, written)
        if not is_parameter(level) or (isinstance(level, str) and not _TEXT_LEVEL.fullmatch(level)):
            fields.wrong(f"{name}[{place}]", f"{shown(written)} is no level", PARAMETER_REMEDY)
            return ()
        if level in levels:
            fields.wrong(name, f"names the level {shown(written)} twice", "name each level once")
            return ()
        levels.append(level)
    if len({type(level) for level in levels}) > 1:
        fields.wrong(name, "mixes levels of different types", "write all levels in one type")
        return ()
    return tuple(levels)


def _environment_levels(
    fields: Fields, name: str, environments: Sequence[Kind], host: HostLimits
) -> tuple[Parameter, ...]:
    field = name.removeprefix(PREFIX)
    value = fields.table[name]
    if not isinstance(value, list) or not value:
        return _levels(fields, name)
    levels: list[Parameter | None] = []
    for place, level in enumerate(value[:MOST_LEVELS], start=1):
        one = Fields({f"{name}[{place}]": level}, fields.path, fields.problems)
        key = f"{name}[{place}]"
        if field == "cpus":
            levels.append(one.integer(key, 1, 4096))
            check_cpus(one.at(key), _integer(levels[-1]), host, fields.problems)
        elif field in ("pinned", "huge_pages", "merge_pages"):
            levels.append(one.flag(key))
        elif field in ("tenants", "nodes"):
            levels.append(one.integer(key, 1, MOST_TENANTS if field == "tenants" else MOST_NODES))
        elif field == "memory":
            levels.append(one.size(key))
            if levels[-1] is not None:
                for kind in environments:
                    check_memory(one.at(key), _integer(levels[-1]), kind, host, fields.problems)
        else:
            levels.append(one.number(key, 0.0, 1.0))
    if None in levels:
        return ()
    checked = Fields({name: [*levels, *value[MOST_LEVELS:]]}, fields.path, fields.problems)
    return _levels(checked, name)


def _integer(level: Parameter | None) -> int:
    return level if isinstance(level, int) else 0


def label(factor: Factor, level: Parameter) -> str:
    """A level as it stands in the names of cells and variants: `threads=2`, `memory=1GiB`."""
    name = factor.field or factor.name
    if isinstance(level, bool):
        return f"{name}={str(level).lower()}"
    if isinstance(level, int) and (factor.field == "memory" or name.endswith("_bytes")):
        return f"{name}={format_size(level).replace(' ', '')}"
    if isinstance(level, float) and math.isfinite(level):
        return f"{name}={level!r}"
    return f"{name}={level}"


def variant(spec: EnvironmentSpec, chosen: Sequence[tuple[Factor, Parameter]]) -> EnvironmentSpec:
    """The environment with those levels, named `container[cpus=1]`; itself where none applies.

    `pinned=true` keeps the CPUs that the environment is pinned to, and `pinned=false` frees it.
    """
    changes: dict[str, Parameter] = {}
    labels = []
    for factor, level in chosen:
        if factor.field:
            labels.append(label(factor, level))
        if factor.field in ("", "pinned") or (factor.field == "nodes" and spec.kind != "cluster"):
            continue
        changes["memory_bytes" if factor.field == "memory" else factor.field] = level
    if not labels:
        return spec
    made = msgspec.structs.replace(spec, name=f"{spec.name}[{','.join(labels)}]", **changes)
    free = any(factor.field == "pinned" and not level for factor, level in chosen)
    return msgspec.structs.replace(made, pin=()) if free else made
