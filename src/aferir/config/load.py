"""Reads an experiment file into a Plan, or raises one UsageError with all errors."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from aferir.config.allocations import with_allocations
from aferir.config.environments import MOST_ENVIRONMENTS, EnvironmentTable, read_table
from aferir.config.expand import expand
from aferir.config.explain import with_arms
from aferir.config.factors import read_factors
from aferir.config.fields import Fields, is_table
from aferir.config.hosts import capped
from aferir.config.problems import REFERENCE, Problems
from aferir.config.sections import (
    MOST_WORKLOADS,
    Experiment,
    read_experiment,
    read_stop,
    tables_of,
)
from aferir.config.server import read_server
from aferir.config.shrink import shrink
from aferir.config.workloads import WorkloadTable, read_workload
from aferir.environments.base import Kind
from aferir.errors import UsageError
from aferir.model.host import HostSpec
from aferir.model.plan import EnvironmentSpec, HostLimits, Plan, ServerSpec
from aferir.model.words import choose, kind_of, shown
from aferir.programs.base import Program

_SECTIONS = (
    "experiment",
    "stop",
    "server",
    "host",
    "slurm",
    "kubernetes",
    "environment",
    "workload",
    "factors",
    "explain",
)
_LARGEST_FILE = 2**20


def load(
    path: Path, host: HostLimits, programs: Mapping[str, Program[Any]], kinds: Mapping[str, Kind]
) -> Plan:
    """Read and validate an experiment file.

    `programs` declare the parameters of each program, `kinds` are the kinds of environment. Errors:
    UsageError that lists every wrong place in the file, why, and what to write instead.
    """
    return parse(read_bytes(path), host, programs, kinds, source=str(path))


def read_bytes(path: Path, what: str = "an experiment file", reference: str = REFERENCE) -> bytes:
    """Content of the file; `what` it should be, and the page that shows one, are for errors.

    Errors: UsageError if it cannot be read or is too large.
    """
    remedy = f"give the path of {what}; {reference} shows one"
    try:
        with path.open("rb") as stream:
            content = stream.read(_LARGEST_FILE + 1)
    except IsADirectoryError:
        raise UsageError(f"{path} is a folder, not {what}", remedy=remedy) from None
    except FileNotFoundError:
        raise UsageError(f"there is no file {path}", remedy=remedy) from None
    except (OSError, ValueError) as reason:
        raise UsageError(f"{path} cannot be read: {reason}", remedy=remedy) from None
    if len(content) > _LARGEST_FILE:
        raise UsageError(f"{path} is larger than {_LARGEST_FILE} bytes", remedy=remedy)
    return content


def parse(
    content: bytes,
    host: HostLimits,
    programs: Mapping[str, Program[Any]],
    kinds: Mapping[str, Kind],
    *,
    source: str = "the experiment file",
) -> Plan:
    """Parse content that was read already: see `load`."""
    try:
        document = tomllib.loads(content.decode("utf-8"))
    except UnicodeDecodeError as reason:
        raise UsageError(
            f"{source} is not UTF-8 text: byte {reason.start} does not belong there",
            remedy="save it as UTF-8",
        ) from None
    except RecursionError:
        raise UsageError(
            f"{source} is nested too deeply", remedy="nothing in it needs that"
        ) from None
    except ValueError as reason:  # TOMLDecodeError, and numbers that int() finds too long
        raise UsageError(
            f"{source} is not TOML: {reason}", remedy=f"mend that place; {REFERENCE} shows the form"
        ) from None
    return plan_of(document, host, programs, kinds, source=source)


def plan_of(
    document: Mapping[str, object],
    host: HostLimits,
    programs: Mapping[str, Program[Any]],
    kinds: Mapping[str, Kind],
    *,
    source: str = "the experiment file",
) -> Plan:
    """Validate a document and return its Plan. Errors: UsageError with all errors."""
    problems = Problems()
    _refuse_unknown(document, problems)
    document, hosts, host = _with_hosts(document, host, problems)
    document, shrunk = msgspec.structs.astuple(shrink(document, host, kinds))
    experiment = read_experiment(_section(document, "experiment", problems), problems)
    stop = read_stop(_section(document, "stop", problems, optional=True), problems)
    server = read_server(_section(document, "server", problems, optional=True), host, problems)
    environments, names = _environments(document, experiment, kinds, server, problems)
    environments, design = with_arms(
        document, environments, experiment, kinds=kinds, host=host, problems=problems
    )
    workloads = _workloads(document, programs, names, experiment, problems=problems)
    specs, cells, too_large = expand(
        experiment,
        environments=environments,
        workloads=workloads,
        factors=read_factors(
            _section(document, "factors", problems, optional=True),
            programs=programs,
            workloads=workloads,
            environments=environments,
            kinds=kinds,
            problems=problems,
        ),
        programs=programs,
        kinds=kinds,
        host=host,
        problems=problems,
    )
    if problems.found:
        raise problems.error(source)
    return Plan(
        name=experiment.name,
        title=experiment.title or experiment.name,
        baseline=experiment.baseline,
        seed=experiment.seed,
        order=experiment.order,
        warmup=experiment.warmup,
        stop=stop,
        time_limit_s=experiment.time_limit_s,
        metric=experiment.metric or "",
        server=server,
        design=design,
        power=experiment.power or "",
        price_per_hour=experiment.price_per_hour,
        load_period_s=experiment.load_period_s,
        hosts=_used(hosts, specs),
        environments=specs,
        cells=cells,
        shrunk=(*shrunk, *too_large),
    )


def _with_hosts(
    document: Mapping[str, object], here: HostLimits, problems: Problems
) -> tuple[dict[str, object], tuple[HostSpec, ...], HostLimits]:
    """Replace hosts by their names; returns the document, all hosts, and resources to use."""
    found, hosts = with_allocations(document, problems)
    others = {one.name: capped(here.at(one.name), one) for one in hosts}
    return found, hosts, msgspec.structs.replace(here, others=others)


def _used(hosts: Sequence[HostSpec], specs: Sequence[EnvironmentSpec]) -> tuple[HostSpec, ...]:
    """Hosts that are named by at least one environment."""
    named = {name for spec in specs for name in spec.host.split(",")}
    return tuple(one for one in hosts if one.name in named)


def _refuse_unknown(document: Mapping[str, object], problems: Problems) -> None:
    for key in document:
        if key not in _SECTIONS:
            problems.add(shown(key).strip('"'), "is not a section", choose(key, _SECTIONS))


def _environments(
    document: Mapping[str, object],
    experiment: Experiment,
    kinds: Mapping[str, Kind],
    server: ServerSpec | None,
    problems: Problems,
) -> tuple[list[EnvironmentTable], list[str]]:
    """Environments that can be read, and the names of all tables.

    With a `[server]` all environments are accounted separately, for their costs of I/O.
    """
    tables = tables_of(document, "environment", MOST_ENVIRONMENTS, problems)
    names = _names(tables, problems)
    if names and experiment.baseline not in names:
        problems.add(
            "experiment.baseline",
            f"there is no environment {shown(experiment.baseline)}",
            choose(experiment.baseline, names),
        )
    read = [read_table(table, path, kinds, problems) for path, table in tables]
    found = (one for one in read if one is not None)
    return [msgspec.structs.replace(one, accounted=server is not None) for one in found], names


def _workloads(
    document: Mapping[str, object],
    programs: Mapping[str, Program[Any]],
    names: Sequence[str],
    experiment: Experiment,
    *,
    problems: Problems,
) -> list[WorkloadTable]:
    tables = tables_of(document, "workload", MOST_WORKLOADS, problems)
    _names(tables, problems)
    read = [
        read_workload(
            table,
            path,
            programs=programs,
            environments=names,
            experiment=experiment,
            problems=problems,
        )
        for path, table in tables
    ]
    return [workload for workload in read if workload is not None]


def _section(
    document: Mapping[str, object], key: str, problems: Problems, *, optional: bool = False
) -> dict[str, object]:
    value = document.get(key)
    if is_table(value):
        return value
    if value is not None:
        problems.add(
            key, f"is {kind_of(value)}, not a table", f"write [{key}] on a line of its own"
        )
    elif not optional:
        problems.add(key, "is missing", f"add an [{key}] table")
    return {}


def _names(tables: Sequence[tuple[str, dict[str, object]]], problems: Problems) -> list[str]:
    """Names of all tables, invalid ones included; each name must be unique."""
    first: dict[str, str] = {}
    for path, table in tables:
        name = table.get("name")
        if not isinstance(name, str):
            continue
        if name in first:
            Fields(table, path, problems).wrong(
                "name", f"{shown(name)} is the name of {first[name]} too", "give it another name"
            )
        first.setdefault(name, path)
    return list(first)
