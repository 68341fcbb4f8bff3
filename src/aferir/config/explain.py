"""Expands the environment of `[explain]` into arms that differ in which features they have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec

from aferir.config.environments import EnvironmentTable, specification
from aferir.config.fields import Fields, Name, is_table
from aferir.config.problems import Problems
from aferir.config.sections import Experiment
from aferir.environments.base import Kind
from aferir.environments.features import HOST_MEMORY, Feature
from aferir.model.design import Arm, Design, Kept, Varied
from aferir.model.parameters import several, text, told
from aferir.model.plan import EnvironmentSpec, HostLimits
from aferir.model.units import format_size
from aferir.model.words import choose, kind_of, shown
from aferir.statistics.factorial import MOST_FACTORS, Run, fold_over, fraction

_AGAIN, _BARE = "again", "bare"
_MANY = f"a design has {MOST_FACTORS} features at most"
_UNASKED = "nobody asked for that"
_Feature = Annotated[str, text("name of a feature", "seccomp filter")]


class Explain(msgspec.Struct, frozen=True, kw_only=True):
    """Keys of the `[explain]` section."""

    environment: Annotated[
        Name, told("the environment that is explained; the experiment's baseline is another one")
    ]
    causes: Annotated[
        tuple[_Feature, ...],
        several("features that are taken away, alone and together", unset="all that it has"),
    ] = ()
    fold: Annotated[
        str,
        text(
            "feature whose interactions with all others are told apart, by twice as many arms",
            "seccomp filter",
            unset="none",
        ),
    ] = ""
    kept: Annotated[
        tuple[Annotated[str, text("`NAME: WHY`", "network: it is not permitted")], ...],
        several("features that stay in all arms, with the reason, for the report", unset="none"),
    ] = ()


class _Found(msgspec.Struct, frozen=True):
    """Features of the environment, and features that cannot be removed."""

    varied: tuple[Feature, ...]
    kept: tuple[Kept, ...]


def with_arms(
    document: Mapping[str, object],
    environments: Sequence[EnvironmentTable],
    experiment: Experiment,
    *,
    kinds: Mapping[str, Kind],
    host: HostLimits,
    problems: Problems,
) -> tuple[list[EnvironmentTable], Design | None]:
    """Add the arms of `[explain]` to the environments; returns the design, too, if there is one."""
    table = document.get("explain")
    if not is_table(table):
        if table is not None:
            said = f"is {kind_of(table)}, not a table"
            problems.add("explain", said, "write [explain] on a line of its own")
        return list(environments), None
    read = Fields(table, "explain", problems)
    values = read.read(Explain)
    read.require("environment", 'environment = "podman"')
    by_name = {one.name: one for one in environments}
    whole, baseline = by_name.get(values.get("environment", "")), by_name.get(experiment.baseline)
    if whole is None or baseline is None or whole is baseline:
        if "environment" in values and by_name:
            others = [name for name in by_name if name != experiment.baseline]
            said = f"{shown(values['environment'])} is no environment beside the baseline"
            read.wrong("environment", said, choose(str(values["environment"]), others))
        return list(environments), None
    if any(key.partition(".")[0] == "environment" for key in _factors(document)):
        said = "varies environments, as [explain] does"
        problems.add("factors", said, "remove the factor, or [explain]")
        return list(environments), None
    explain = Explain(**values)
    there = present(whole, kinds=kinds, host=host)
    found = _chosen(explain, there, read)
    if not found.varied:
        if there.varied and explain.causes:
            return list(environments), None  # none of the causes exists, which is told already
        said = f"`{whole.name}` has no feature that could be taken away"
        read.wrong("environment", said, "explain another environment; `aferir measure` measures it")
        return list(environments), None
    return _arms(environments, whole, baseline, found, fold=explain.fold, host=host)


def present(
    environment: EnvironmentTable, *, kinds: Mapping[str, Kind], host: HostLimits
) -> _Found:
    """Features that the environment has: the ones whose removal changes its specification."""
    varied, kept = [], []
    whole = _specified(environment, kinds, host, Problems())
    for feature in environment.kind.features if whole is not None else ():
        problems = Problems()
        without = _specified(_without(environment, [feature], host), kinds, host, problems)
        if without is None:
            kept.append(Kept(feature.name, problems.found[0].message))
        elif without != whole:
            varied.append(feature)
    kept += [Kept(one.name, _MANY) for one in varied[MOST_FACTORS:]]
    return _Found(tuple(varied[:MOST_FACTORS]), tuple(kept))


def _specified(
    table: EnvironmentTable, kinds: Mapping[str, Kind], host: HostLimits, problems: Problems
) -> EnvironmentSpec | None:
    return specification(table, kinds=kinds, host=host, problems=problems)


def _factors(document: Mapping[str, object]) -> Mapping[str, object]:
    factors = document.get("factors")
    return factors if is_table(factors) else {}


def _chosen(explain: Explain, found: _Found, read: Fields) -> _Found:
    """Features that the file selects; it is an error to select one that is not there."""
    names = [one.name for one in found.varied]
    for key, wanted in (("causes", explain.causes), ("fold", [explain.fold] * bool(explain.fold))):
        for name in wanted:
            if name not in names:
                said = f"{shown(name)} is no feature that it has and that can be taken away"
                read.wrong(key, said, choose(name, names))
    said_kept = dict(line.split(": ", 1) for line in explain.kept if ": " in line)
    kept = [Kept(name, why) for name, why in said_kept.items()]
    kept += [one for one in found.kept if one.name not in said_kept]
    if not explain.causes:
        varied = [one for one in found.varied if one.name not in said_kept]
        return _Found(tuple(varied), tuple(kept))
    kept += [
        Kept(name, _UNASKED)
        for name in names
        if name not in explain.causes and name not in said_kept
    ]
    return _Found(tuple(one for one in found.varied if one.name in explain.causes), tuple(kept))


def _arms(
    environments: Sequence[EnvironmentTable],
    whole: EnvironmentTable,
    baseline: EnvironmentTable,
    found: _Found,
    *,
    fold: str,
    host: HostLimits,
) -> tuple[list[EnvironmentTable], Design]:
    """Environments for the runs of the design; the baseline and both extreme arms occur twice."""
    names = [one.name for one in found.varied]
    runs: Sequence[Run] = fraction(len(names))
    if fold in names:
        runs = fold_over(runs, names.index(fold))
    tables: list[EnvironmentTable] = []
    arms: list[Arm] = []
    for run in (*runs, runs[0], runs[len(fraction(len(names))) - 1]):
        gone = [one for one, level in zip(found.varied, run, strict=True) if level < 0]
        table = _named(_without(whole, gone, host), [one.name for one in gone], tables, len(names))
        tables.append(table)
        arms.append(Arm(table.name, run))
    twice = msgspec.structs.replace(baseline, name=f"{baseline.name}[{_AGAIN}]")
    others = [one for one in environments if one.name not in (whole.name, baseline.name)]
    design = Design(
        environment=whole.name,
        baselines=(baseline.name, twice.name),
        varied=tuple(
            Varied(name=one.name, remedy=one.remedy, gives_up=one.gives_up) for one in found.varied
        ),
        arms=tuple(arms),
        kept=found.kept,
    )
    return [baseline, twice, *tables, *others], design


def _named(
    table: EnvironmentTable, gone: Sequence[str], before: Sequence[EnvironmentTable], of: int
) -> EnvironmentTable:
    """Name an arm: `podman[without network, overlay]`, `podman[bare]`; or the name itself."""
    label = f"without {', '.join(gone)}" if gone else ""
    label = _BARE if len(gone) == of else label
    name = f"{table.name}[{label}]" if label else table.name
    if any(one.name == name for one in before):
        label = f"{label}, {_AGAIN}" if label else _AGAIN
        name = f"{table.name}[{label}]"
    return msgspec.structs.replace(table, name=name)


def _without(
    environment: EnvironmentTable, gone: Sequence[Feature], host: HostLimits
) -> EnvironmentTable:
    """Table of the environment without the features `gone`."""
    table = dict(environment.table)
    own = host.at(str(table.get("host", "")))
    for feature in gone:
        for key, value in feature.without.items():
            if value is None:
                table.pop(key, None)
            else:
                table[key] = format_size(own.memory_bytes) if value == HOST_MEMORY else value
    return msgspec.structs.replace(environment, table=table)
