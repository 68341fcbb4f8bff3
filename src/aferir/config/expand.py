"""Environments x workloads x factor levels -> cells, with impossible combinations refused."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from aferir.config.factors import PREFIX, Factor, label, variant
from aferir.config.problems import Problems
from aferir.config.sections import (
    Experiment,
    PackagedProgram,
    PlacedProgram,
    ProgramRules,
    SometimesPackagedProgram,
    WorkloadTable,
)
from aferir.environments.base import Kind
from aferir.model.plan import (
    Cell,
    EnvironmentSpec,
    HostLimits,
    Parameter,
    WorkloadSpec,
)
from aferir.model.units import format_size

MOST_CELLS = 1000
_GUEST_KERNEL = 64 * 2**20
"""Bytes that a guest's own kernel and user land keep from a program, about."""

Levels = tuple[tuple[Factor, Parameter], ...]


def expand(
    experiment: Experiment,
    *,
    environments: Sequence[EnvironmentSpec],
    workloads: Sequence[WorkloadTable],
    factors: Sequence[Factor],
    programs: Mapping[str, ProgramRules],
    kinds: Mapping[str, Kind],
    host: HostLimits,
    problems: Problems,
) -> tuple[tuple[EnvironmentSpec, ...], tuple[Cell, ...]]:
    """Every environment variant and every cell, in the order of the file."""
    combinations = {w.path: _combinations(w, factors, programs) for w in workloads}
    count = sum(combinations.values()) * len(environments)
    if count > MOST_CELLS:
        problems.add(
            "factors",
            f"make {count} cells with {len(environments)} environments",
            f"keep at most {MOST_CELLS}: fewer levels, or several experiments",
        )
        return (), ()
    specs: dict[str, EnvironmentSpec] = {}
    cells: list[Cell] = []
    for workload in workloads:
        used = _used(workload, factors, programs)
        for chosen in itertools.product(*([(f, level) for level in f.levels] for f in used)):
            parameters = _parameters(workload, chosen)
            if not _valid(workload, parameters, chosen, programs, problems):
                continue
            for spec in environments:
                if workload.environments and spec.name not in workload.environments:
                    continue
                made = variant(spec, chosen)
                if not spec.pin and any(factor.field == "pinned" for factor, _ in chosen):
                    problems.add(
                        PREFIX + "pinned",
                        f"`{spec.name}` names no CPUs that it could be pinned to",
                        "add `pin = [0]` to the environment, with as many CPUs as it has",
                    )
                cell = _cell(made, workload, parameters, chosen)
                _check_kind(workload, made, programs[workload.program], kinds, problems=problems)
                need = programs[workload.program].memory_bytes(parameters)
                fit = _misfits(
                    cell,
                    made,
                    need,
                    kind=kinds[made.kind],
                    host_bytes=host.memory_bytes,
                    oversubscribe=experiment.oversubscribe,
                )
                for message, remedy in fit:
                    problems.add(workload.path, message, remedy)
                specs[made.name] = made
                cells.append(cell)
    packages = image_packages((programs[c.workload.program], c.workload.parameters) for c in cells)
    return tuple(
        msgspec.structs.replace(spec, packages=packages) if kinds[spec.kind].has_image else spec
        for spec in specs.values()
    ), tuple(cells)


def image_packages(used: Iterable[tuple[ProgramRules, Mapping[str, Parameter]]]) -> tuple[str, ...]:
    """What the images of the experiment need: one image serves all its programs."""
    needed: set[str] = set()
    for rules, parameters in used:
        if isinstance(rules, PackagedProgram):
            needed |= {*rules.packages}
        if isinstance(rules, SometimesPackagedProgram):
            needed |= {*rules.packages_of(parameters)}
    return tuple(sorted(needed))


def _used(
    workload: WorkloadTable, factors: Sequence[Factor], programs: Mapping[str, ProgramRules]
) -> list[Factor]:
    """Factors that vary this workload; a factor of another program leaves it alone."""
    known = programs[workload.program].parameters
    return [
        f for f in factors if f.field or (f.name in known and f.name not in workload.parameters)
    ]


def _combinations(
    workload: WorkloadTable, factors: Sequence[Factor], programs: Mapping[str, ProgramRules]
) -> int:
    return math.prod(len(factor.levels) for factor in _used(workload, factors, programs))


def _parameters(workload: WorkloadTable, chosen: Levels) -> dict[str, Parameter]:
    return workload.parameters | {f.name: level for f, level in chosen if not f.field}


def _cell(
    spec: EnvironmentSpec,
    workload: WorkloadTable,
    parameters: dict[str, Parameter],
    chosen: Levels,
) -> Cell:
    marks = [(PREFIX if f.field else "") + label(f, level) for f, level in chosen]
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
        factors={f.name: level for f, level in chosen},
    )


def _valid(
    workload: WorkloadTable,
    parameters: Mapping[str, Parameter],
    chosen: Levels,
    programs: Mapping[str, ProgramRules],
    problems: Problems,
) -> bool:
    """Let the program judge its parameters; its sentences start with the parameter's name."""
    rules = programs[workload.program]
    sentences = rules.validate(parameters)
    varied = {f.name for f, _ in chosen if not f.field}
    for sentence in sentences:
        name, _, rest = sentence.partition(": ")
        message, _, remedy = (rest if name in rules.parameters else sentence).partition("; ")
        path = workload.path
        if name in varied:
            path = f"factors.{name}"
        elif name in rules.parameters:
            path = f"{workload.path}.{name}"
        problems.add(path, message, remedy or "see what the program takes")
    return not sentences


def _check_kind(
    workload: WorkloadTable,
    spec: EnvironmentSpec,
    rules: ProgramRules,
    kinds: Mapping[str, Kind],
    *,
    problems: Problems,
) -> None:
    anywhere = tuple(kind.name for kind in kinds.values() if kind.any_program)
    able = rules.kinds if isinstance(rules, PlacedProgram) else anywhere
    if spec.kind not in able:
        problems.add(
            f"{workload.path}.environments",
            f"`{spec.name}` is a {spec.kind}, where `{workload.program}` cannot run",
            f"name those of kind {' or '.join(able)}: environments = [...]",
        )
    mpi = kinds[spec.kind].mpi
    if mpi and workload.parameters.get("mpi", mpi) != mpi:
        problems.add(
            f"{workload.path}.mpi",
            f"the nodes of `{spec.name}` have {mpi}",
            "remove it, or name other environments: environments = [...]",
        )


def _misfits(
    cell: Cell,
    spec: EnvironmentSpec,
    need_bytes: int,
    *,
    kind: Kind,
    host_bytes: int,
    oversubscribe: bool,
) -> Iterator[tuple[str, str]]:
    """Why a cell cannot run as asked, each with its remedy."""
    # Processes are on all nodes of a cluster, threads on its front end alone.
    for name, nodes in (("threads", 1), ("processes", spec.nodes)):
        number = cell.workload.parameters.get(name, 1)
        if isinstance(number, int) and number > spec.cpus * nodes and not oversubscribe:
            yield (
                f"asks for {number} {name} in `{spec.name}`, which has {spec.cpus * nodes} CPUs",
                f"lower `{name}`, or write `oversubscribe = true` under [experiment]",
            )
    guests = spec.kind == "vm" or spec.node_kind == "vm"
    have = spec.memory_bytes - (_GUEST_KERNEL if guests else 0)
    have *= spec.nodes if "processes" in cell.workload.parameters else 1
    if need_bytes > have:
        yield (
            (
                f"needs about {need_bytes / 2**20:.0f} MiB in `{spec.name}`, which has "
                f"{format_size(spec.memory_bytes)}"
            ),
            "give the environment more memory, or take a smaller problem",
        )
    instances = spec.tenants * spec.nodes
    if instances * spec.memory_bytes > host_bytes and not kind.on_host:
        yield (
            (
                f"would run in {instances} instances of `{spec.name}` with "
                f"{format_size(spec.memory_bytes)} each, and this host has "
                f"{format_size(host_bytes)}"
            ),
            "give each less memory, or ask for fewer tenants or nodes",
        )
    if spec.pin and spec.cpus > len(spec.pin):
        yield (
            f"would run in `{spec.name}` of {spec.cpus} CPUs, pinned to {len(spec.pin)}",
            "pin the environment to more CPUs, or remove the level of `environment.cpus`",
        )
