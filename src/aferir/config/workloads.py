"""Reads `[[workload]]` tables: a program of the experiment with its parameters."""

from __future__ import annotations

import re
import typing
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec

from aferir.config.fields import PARAMETER_REMEDY, Fields, Name, is_parameter
from aferir.config.problems import Problems
from aferir.config.sections import MONTH_S, Experiment
from aferir.model.checking import Refused, joined, quoted, read_value
from aferir.model.parameters import Field, duration, several, text, told
from aferir.model.plan import Parameter
from aferir.model.words import choose, shown
from aferir.programs.base import Program, declared_by, judge

RESERVED = "allocation"
"""Forbidden workload name: allocations are recorded under it, so cells would collide."""
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
    """Names of environments; empty: all of them."""
    skip_emulated: bool


class WorkloadKeys(msgspec.Struct, frozen=True, kw_only=True):
    """Keys that a `[[workload]]` table of any program may have."""

    name: Annotated[Name, told("each name once")]
    time_limit_s: (
        Annotated[
            float,
            duration(
                "of one repetition; past it the repetition counts as failed",
                *(0.1, MONTH_S),
                bare=False,
                unset="2 min",
            ),
        ]
        | None
    ) = msgspec.field(name="time_limit", default=None)
    environments: Annotated[
        tuple[Annotated[str, text("name of an environment", "native")], ...],
        several("names of the environments that it runs in", unset="all"),
    ] = ()
    emulated: Annotated[
        Literal["run", "skip"],
        told("`skip`: not where all is emulated in software, which would take minutes"),
    ] = "run"


def read_workload(
    table: Mapping[str, object],
    path: str,
    *,
    programs: Mapping[str, Program[Any]],
    environments: Sequence[str],
    experiment: Experiment,
    problems: Problems,
) -> WorkloadTable | None:
    """Read one `[[workload]]` table; returns None if its name or program is wrong."""
    fields = Fields(table, path, problems)
    program = fields.choice("program", tuple(programs), f'program = "{next(iter(programs))}"')
    own = declared_by(programs[program]) if program is not None else ()
    # Without a known program, the other keys of the table cannot be checked.
    others = ("program", *(f.key for f in own)) if program is not None else tuple(table)
    keys = WorkloadKeys(**{"name": ""} | fields.read(WorkloadKeys, others))
    if keys.name == RESERVED:
        fields.wrong("name", f"`{RESERVED}` is what allocations are recorded as", "rename it")
    if keys.time_limit_s is not None and keys.time_limit_s > experiment.time_limit_s:
        fields.wrong(
            "time_limit",
            f"is longer than the whole experiment's, {experiment.time_limit_s:g} s",
            "shorten it, or raise `experiment.time_limit`",
        )
    for name in keys.environments:
        if name not in environments:
            remedy = choose(name, environments)
            fields.wrong("environments", f"there is no environment {shown(name)}", remedy)
    parameters = {field.key: _parameter(fields, field) for field in own if field.key in table}
    if program is None or not keys.name or None in parameters.values():
        return None
    return WorkloadTable(
        path=path,
        name=keys.name,
        program=program,
        parameters={key: value for key, value in parameters.items() if value is not None},
        time_limit_s=keys.time_limit_s or _DEFAULT_LIMIT_S,
        environments=tuple(name for name in keys.environments if name in environments),
        skip_emulated=keys.emulated == "skip",
    )


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
    """Value as stored in a plan: without units, and a list of words or numbers as one text."""
    if field.spelling and isinstance(written, str):
        try:
            return read_value(field, written)
        except Refused:
            return written  # told when all parameters are looked at together
    if field.quoted:
        return quoted(written)
    if field.form == "list" and field.separator and isinstance(written, list):
        return field.separator.join(map(str, written))
    return joined(written, field.separator)


def placeholders(workload: WorkloadTable, program: Program[Any]) -> frozenset[str]:
    """Names in braces in the texts of a program that substitutes factor levels."""
    if not program.fills:
        return frozenset()
    texts = (text for text in workload.parameters.values() if isinstance(text, str))
    return frozenset(name for text in texts for name in _IN_BRACES.findall(text))


def filled(
    parameters: Mapping[str, Parameter], levels: Mapping[str, Parameter]
) -> dict[str, Parameter]:
    """Parameters with factor levels substituted for their names in braces."""

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
    """Parameters as the program's struct; None if some are wrong.

    An error is reported for the key of the workload, or for the factor if the key is `varied`.
    """
    values, wrong = judge(program, parameters)
    for one in wrong:
        path = f"{workload.path}.{one.key}" if one.key else workload.path
        if one.key in varied:
            path = f"factors.{one.key}"
        problems.add(path, one.message, one.remedy)
    return None if values is None else typing.cast("msgspec.Struct", values)
