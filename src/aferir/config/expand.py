"""Combines environments, workloads and factor levels to cells; refuses impossible ones."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from aferir.config.environments import EnvironmentTable, specification
from aferir.config.factors import PREFIX, Factor, Levels, variant
from aferir.config.problems import Problems
from aferir.config.sections import Experiment
from aferir.config.workloads import WorkloadTable, filled, judge_parameters, placeholders
from aferir.environments.base import Kind
from aferir.model import overlay
from aferir.model.parameters import names
from aferir.model.plan import (
    Cell,
    EnvironmentSpec,
    HostLimits,
    Parameter,
    WorkloadSpec,
)
from aferir.model.units import format_size
from aferir.programs import mpi
from aferir.programs.base import Program

MOST_CELLS = 1000


class _Combined(msgspec.Struct, frozen=True):
    """One workload, with one level of each factor that varies it."""

    workload: WorkloadTable
    program: Program[Any]
    levels: Levels
    parameters: dict[str, Parameter]
    values: Any
    """Parameters converted to the program's own struct."""

    def runs_in(self, environment: EnvironmentTable) -> bool:
        """True if the workload selects that environment."""
        return not self.workload.environments or environment.name in self.workload.environments


class _Placed(msgspec.Struct, frozen=True):
    """One workload with its factor levels, in one environment."""

    cell: Cell
    spec: EnvironmentSpec
    lack: str
    """Reason why the environment's memory is too small for the workload; empty: it suffices."""


def expand(
    experiment: Experiment,
    *,
    environments: Sequence[EnvironmentTable],
    workloads: Sequence[WorkloadTable],
    factors: Sequence[Factor],
    programs: Mapping[str, Program[Any]],
    kinds: Mapping[str, Kind],
    host: HostLimits,
    problems: Problems,
) -> tuple[tuple[EnvironmentSpec, ...], tuple[Cell, ...], tuple[str, ...]]:
    """Environments and cells in the order of the file, and sentences about what is left out.

    Where the experiment may shrink, a workload that has too little memory in one environment is
    left out in all of them.
    """
    if _too_many(len(environments), workloads, factors, programs, problems):
        workloads = ()  # the environments are looked at all the same
    combined: list[_Combined] = []
    placed: list[_Placed] = []
    for workload in workloads:
        for one in _combined(workload, factors, programs[workload.program], problems):
            combined.append(one)
            placed += _placed(
                one,
                [environment for environment in environments if one.runs_in(environment)],
                experiment=experiment,
                kinds=kinds,
                host=host,
                problems=problems,
            )
    for environment in environments:
        if not any(one.runs_in(environment) for one in combined):
            specification(environment, kinds=kinds, host=host, problems=problems)
    too_large = {one.cell.group: one.lack for one in placed if one.lack}
    if experiment.shrink and too_large.keys() >= {one.cell.group for one in placed} > set():
        problems.add("workload", "none has memory enough on this host", _MORE_MEMORY)
    return (
        _specs(combined, placed, kinds),
        tuple(one.cell for one in placed if one.cell.group not in too_large),
        tuple(f"workload `{group}` is left out: it {why}" for group, why in too_large.items()),
    )


def _too_many(
    environments: int,
    workloads: Sequence[WorkloadTable],
    factors: Sequence[Factor],
    programs: Mapping[str, Program[Any]],
    problems: Problems,
) -> bool:
    """True, with an error added, if there would be more cells than `MOST_CELLS`."""
    count = environments * sum(_combinations(one, factors, programs) for one in workloads)
    if count > MOST_CELLS:
        problems.add(
            "factors",
            f"make {count} cells with {environments} environments",
            f"keep at most {MOST_CELLS}: fewer levels, or several experiments",
        )
    return count > MOST_CELLS


def _combined(
    workload: WorkloadTable, factors: Sequence[Factor], program: Program[Any], problems: Problems
) -> Iterator[_Combined]:
    """Every combination of levels whose parameters the program accepts."""
    for levels in _choices(_used(workload, factors, program)):
        parameters = _parameters(workload, levels, program)
        varied = {factor.name for factor, _ in levels if not factor.field}
        values = judge_parameters(workload, parameters, varied, program=program, problems=problems)
        if values is not None:
            yield _Combined(workload, program, levels, parameters, values)


def _placed(
    one: _Combined,
    environments: Sequence[EnvironmentTable],
    *,
    experiment: Experiment,
    kinds: Mapping[str, Kind],
    host: HostLimits,
    problems: Problems,
) -> Iterator[_Placed]:
    """Cells of one combination of levels, one cell in each valid environment."""
    own = tuple((factor, level) for factor, level in one.levels if factor.field)
    for environment in environments:
        spec = variant(environment, own, kinds=kinds, host=host, problems=problems)
        if spec is None:
            continue
        cell = _cell(spec, one.workload, one.parameters, one.levels)
        _check_kind(
            one.workload,
            spec,
            one.program.kinds_of(one.values),
            kinds,
            of_packages=one.program.of_packages,
            problems=problems,
        )
        for wrong in one.program.over_hosts(one.values) if spec.is_spread else ():
            problems.add(f"{one.workload.path}.{wrong.key}", wrong.message, wrong.remedy)
        lack = _judge_fit(
            cell,
            spec,
            one.program.memory_bytes(one.values),
            experiment=experiment,
            kind=kinds[spec.kind],
            host=host,
            path=one.workload.path,
            problems=problems,
        )
        yield _Placed(cell, spec, lack)


def _specs(
    combined: Sequence[_Combined], placed: Sequence[_Placed], kinds: Mapping[str, Kind]
) -> tuple[EnvironmentSpec, ...]:
    """Every environment once; environments with an image list the packages of all programs.

    Environments on several hosts also list those of MPI and of the ssh that joins their instances.
    """
    needed = {name for one in combined for name in one.program.packages(one.values)}
    asked = {
        one.values.mpi or mpi.DEFAULT for one in combined if "mpi" in names(one.program.parameters)
    }
    spread = needed | {mpi.IN_IMAGES[one] for one in asked} | set(overlay.PACKAGES)
    return tuple(
        msgspec.structs.replace(spec, packages=tuple(sorted(spread if spec.is_spread else needed)))
        if kinds[spec.kind].has_image
        else spec
        for spec in {one.spec.name: one.spec for one in placed}.values()
    )


def _choices(factors: Sequence[Factor]) -> Iterator[Levels]:
    """Every combination of the levels of `factors`."""
    return itertools.product(*([(f, level) for level in f.levels] for f in factors))


def _used(
    workload: WorkloadTable, factors: Sequence[Factor], program: Program[Any]
) -> list[Factor]:
    """Factors that vary this workload; those of other programs are left out."""
    known = {*names(program.parameters), *placeholders(workload, program)}
    return [
        f for f in factors if f.field or (f.name in known and f.name not in workload.parameters)
    ]


def _combinations(
    workload: WorkloadTable, factors: Sequence[Factor], programs: Mapping[str, Program[Any]]
) -> int:
    return math.prod(
        len(factor.levels) for factor in _used(workload, factors, programs[workload.program])
    )


def _parameters(
    workload: WorkloadTable, chosen: Levels, program: Program[Any]
) -> dict[str, Parameter]:
    levels = {f.name: level.value for f, level in chosen if not f.field}
    if not program.fills:
        return workload.parameters | levels
    declared = names(program.parameters)
    own = {name: level for name, level in levels.items() if name in declared}
    return filled(workload.parameters, levels) | own


def _cell(
    spec: EnvironmentSpec,
    workload: WorkloadTable,
    parameters: dict[str, Parameter],
    chosen: Levels,
) -> Cell:
    marks = [(PREFIX if f.field else "") + level.label for f, level in chosen]
    group = "/".join([workload.name, *marks])
    return Cell(
        id=f"{spec.name}/{group}",
        group=group,
        environment=spec.name,
        workload=WorkloadSpec(
            name=workload.name,
            program=workload.program,
            parameters=parameters,
            time_limit_s=workload.time_limit_s,
            skip_emulated=workload.skip_emulated,
        ),
        factors={f.name: level.value for f, level in chosen},
    )


def _check_kind(
    workload: WorkloadTable,
    spec: EnvironmentSpec,
    named: Sequence[str],
    kinds: Mapping[str, Kind],
    *,
    of_packages: bool,
    problems: Problems,
) -> None:
    able = named or tuple(
        kind.name
        for kind in kinds.values()
        if kind.any_program and (kind.has_image or kind.on_host or not of_packages)
    )
    if spec.kind not in able:
        problems.add(
            f"{workload.path}.environments",
            f"`{spec.name}` is a {spec.kind}, where `{workload.program}` cannot run",
            f"name those of kind {' or '.join(able)}: environments = [...]",
        )
    own = kinds[spec.kind].mpi
    if own and workload.parameters.get("mpi", own) != own:
        problems.add(
            f"{workload.path}.mpi",
            f"the nodes of `{spec.name}` have {own}",
            "remove it, or name other environments: environments = [...]",
        )


def _judge_fit(
    cell: Cell,
    spec: EnvironmentSpec,
    need_bytes: int,
    *,
    experiment: Experiment,
    kind: Kind,
    host: HostLimits,
    path: str,
    problems: Problems,
) -> str:
    """Report why a cell cannot run as requested; returns the lack of memory, if any.

    With `shrink` a lack of memory is no error.
    """
    lack = _lack_of_memory(cell, spec, need_bytes)
    if lack and not experiment.shrink:
        problems.add(path, lack, _MORE_MEMORY)
    fit = _misfits(
        cell,
        spec,
        kind=kind,
        host_bytes=host.at(spec.host).memory_bytes,
        oversubscribe=experiment.oversubscribe,
    )
    for message, remedy in fit:
        problems.add(path, message, remedy)
    return lack


_MORE_MEMORY = "give the environment more memory, or take a smaller problem"


def _lack_of_memory(cell: Cell, spec: EnvironmentSpec, need_bytes: int) -> str:
    """Sentence about a program that needs more memory than its environment has; else empty."""
    have = spec.memory_bytes - spec.kept_bytes()
    have *= spec.machines() if "processes" in cell.workload.parameters else 1
    if need_bytes <= have:
        return ""
    return (
        f"needs about {need_bytes / 2**20:.0f} MiB in `{spec.name}`, which has "
        f"{format_size(spec.memory_bytes)}"
    )


def _misfits(
    cell: Cell,
    spec: EnvironmentSpec,
    *,
    kind: Kind,
    host_bytes: int,
    oversubscribe: bool,
) -> Iterator[tuple[str, str]]:
    """Reasons why a cell cannot run as requested, each with its remedy."""
    # Processes run on all nodes of a cluster, threads on its front end alone.
    for name, nodes in (("threads", 1), ("processes", spec.machines())):
        number = cell.workload.parameters.get(name, 1)
        if isinstance(number, int) and number > spec.cpus * nodes and not oversubscribe:
            yield (
                f"asks for {number} {name} in `{spec.name}`, which has {spec.cpus * nodes} CPUs",
                f"lower `{name}`, or write `oversubscribe = true` under [experiment]",
            )
    instances = spec.tenants * -(-spec.machines() // len(spec.host.split(",")))
    if instances * spec.memory_bytes > host_bytes and not kind.on_host:
        yield (
            (
                f"would run in {instances} instances of `{spec.name}` with "
                f"{format_size(spec.memory_bytes)} each, and this host has "
                f"{format_size(host_bytes)}"
            ),
            "give each less memory, or ask for fewer tenants or nodes",
        )
