"""`[[workload]]`: one program of the experiment with its parameters."""

from __future__ import annotations

import re
import typing
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from aferir.config.fields import PARAMETER_REMEDY, Fields, is_parameter
from aferir.config.problems import Problems
from aferir.config.sections import MONTH_S, Experiment
from aferir.model.checking import Refused, quoted, read_value
from aferir.model.parameters import Field
from aferir.model.plan import Parameter
from aferir.model.words import choose, shown
from aferir.programs.base import Program, declared_by, judge

RESERVED = "allocation"
"""A workload of that name would share its cells with the records of allocations."""
_DEFAULT_LIMIT_S = 120.0
_IN_BRACES = re.compile(r"\{([a-z][a-z0-9_]*)\}")


class WorkloadTable(msgspec.Struct, frozen=True, kw_only=True):
    """One `[[workload]]` table, before factors are applied."""

    path: str
    name: str
    program: str
    parameters: dict[str, Parameter]
    time_limit_s: float
    environments: tuple[str, ...]
    """Empty: all of them."""
    skip_emulated: bool


_WORKLOAD_KEYS = ("name", "program", "time_limit", "environments", "emulated")


def read_workload(
    table: Mapping[str, object],
    path: str,
    *,
    programs: Mapping[str, Program[Any]],
    environments: Sequence[str],
    experiment: Experiment,
    problems: Problems,
) -> WorkloadTable | None:
    """One `[[workload]]` table; None where its name or program is wrong."""
    fields = Fields(table, path, problems)
    name = fields.name("name", 'name = "ep"')
    if name == RESERVED:
        fields.wrong("name", f"`{RESERVED}` is what allocations are recorded as", "rename it")
    fields.require("program", f'program = "{next(iter(programs), "npb")}"')
    program = fields.choice("program", tuple(programs))
    limit = fields.duration("time_limit", 0.1, MONTH_S)
    if limit is not None and limit > experiment.time_limit_s:
        fields.wrong(
            "time_limit",
            f"is longer than the whole experiment's, {experiment.time_limit_s:g} s",
            "shorten it, or raise `experiment.time_limit`",
        )
    chosen = _read_subset(fields, environments)
    emulated = fields.choice("emulated", ("run", "skip"))
    if program is None:
        return None
    known = declared_by(programs[program])
    fields.only((*_WORKLOAD_KEYS, *(field.key for field in known)))
    parameters = {field.key: _parameter(fields, field) for field in known if field.key in table}
    if name is None or None in parameters.values():
        return None
    return WorkloadTable(
        path=path,
        name=name,
        program=program,
        parameters={key: value for key, value in parameters.items() if value is not None},
        time_limit_s=limit or min(_DEFAULT_LIMIT_S, experiment.time_limit_s),
        environments=chosen,
        skip_emulated=emulated == "skip",
    )


def _read_subset(fields: Fields, environments: Sequence[str]) -> tuple[str, ...]:
    value = fields.table.get("environments")
    if value is None:
        return ()
    if not isinstance(value, list) or not value:
        fields.wrong(
            "environments",
            f"{shown(value)} is not a list of names of environments",
            "name at least one, or remove the key for all of them",
        )
        return ()
    for name in value:
        if name not in environments:
            remedy = choose(name if isinstance(name, str) else "", environments)
            fields.wrong("environments", f"there is no environment {shown(name)}", remedy)
            return ()
    if len(set(value)) != len(value):
        fields.wrong("environments", "names an environment twice", "name each once")
    return tuple(value)


def _parameter(fields: Fields, field: Field) -> Parameter | None:
    value = as_parameter(field, fields.table[field.key])
    if is_parameter(value):
        return value
    if field.form == "text" and isinstance(value, str):
        return value  # longer, or of several lines: told when all parameters are looked at
    given = fields.table[field.key]
    fields.wrong(field.key, f"{shown(given)} cannot be a parameter", PARAMETER_REMEDY)
    return None


def as_parameter(field: Field, written: object) -> object:
    """As it stands in a plan: without units, and a list of words as one text."""
    if field.spelling and isinstance(written, str):
        try:
            return read_value(field, written)
        except Refused:
            return written  # told when all parameters are looked at together
    if field.quoted:
        return quoted(written)
    if field.separator and isinstance(written, list) and all(isinstance(w, str) for w in written):
        return field.separator.join(written)
    return written


def placeholders(workload: WorkloadTable, program: Program[Any]) -> frozenset[str]:
    """Names in braces in the texts of a program that fills in the levels of factors."""
    if not program.fills:
        return frozenset()
    texts = (text for text in workload.parameters.values() if isinstance(text, str))
    return frozenset(name for text in texts for name in _IN_BRACES.findall(text))


def filled(
    parameters: Mapping[str, Parameter], levels: Mapping[str, Parameter]
) -> dict[str, Parameter]:
    """Parameters with the levels of factors in place of their names in braces."""

    def fill(text: Parameter) -> Parameter:
        if not isinstance(text, str):
            return text
        return _IN_BRACES.sub(lambda found: str(levels.get(found[1], found[0])), text)

    return {key: fill(value) for key, value in parameters.items()}


def judge_parameters(
    workload: WorkloadTable,
    parameters: Mapping[str, Parameter],
    varied: Collection[str],
    *,
    program: Program[Any],
    problems: Problems,
) -> msgspec.Struct | None:
    """The parameters as the program takes them; None where some are wrong.

    What is wrong is told of the key of the workload, or of the factor, where it is `varied`.
    """
    values, wrong = judge(program, parameters)
    for one in wrong:
        path = f"{workload.path}.{one.key}" if one.key else workload.path
        if one.key in varied:
            path = f"factors.{one.key}"
        problems.add(path, one.message, one.remedy)
    return None if values is None else typing.cast("msgspec.Struct", values)
