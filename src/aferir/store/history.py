"""Reads one figure of every run in a folder, with each run's commit, kernel and host."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import msgspec

from aferir.errors import AferirError
from aferir.linux.refusal import refusals
from aferir.model.plan import Cell, Plan, environment_family
from aferir.model.provenance import Provenance
from aferir.store.run import (
    PROVENANCE,
    RECORDS,
    Manifest,
    Run,
    exists,
    list_folders,
    read_json,
    read_manifest,
    read_plan,
)

RECORD_COLUMNS = {
    "cell": "VARCHAR",
    "group": "VARCHAR",
    "repetition": "BIGINT",
    "warmup": "BOOLEAN",
    "failure": "JSON",
    "samples": "STRUCT(metric VARCHAR, value DOUBLE, unit VARCHAR, side VARCHAR)[]",
}
"""Parts of a record that a figure needs, with their SQL types; a missing part is NULL."""
_LONGEST_LINE = 256 * 2**20
"""Largest record in bytes: a repetition that samples a day of load every second has 20 MB."""
_FIGURES = """
WITH one AS (
    SELECT filename, cell, "group", repetition, unnest(samples) AS s
    FROM read_json($files, columns=$columns, format='newline_delimited', ignore_errors=true,
                   filename=true, maximum_object_size=$longest, hive_partitioning=false)
    WHERE NOT coalesce(warmup, false) AND failure IS NULL
), figure AS (
    SELECT filename, cell, "group", repetition, s.value AS value, s.unit AS unit
    FROM one
    WHERE s.metric = $metric AND coalesce(s.side, 'program') = 'program'
)
"""
_OWN = """
SELECT filename, cell, count(*), median(value), any_value(unit) FROM figure GROUP BY ALL
"""
_RATIO = """
SELECT a.filename, a.cell, count(*), median(a.value / b.value), ''
FROM figure a JOIN base ON base.filename = a.filename AND base.cell = a.cell
JOIN figure b ON b.filename = a.filename AND b.cell = base.baseline
    AND b.repetition = a.repetition
WHERE b.value > 0 AND a.value > 0
GROUP BY ALL
"""


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions of one run, by which a history is ordered, divided and explained."""

    run: str
    """Name of the run's folder."""
    started_unix_ns: int
    commit: str
    """Revision of the user's work tree, or of aferir's own; empty: neither is known."""
    kernel: str
    host: str
    """Name of the host and model of its processor."""
    version: str
    """Version of aferir."""


class RunFigure(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of one cell of a run."""

    conditions: Conditions
    experiment: str
    group: str
    environment: str
    work: str
    """Program with its parameters and kind of environment: equal for equal work only."""
    metric: str
    unit: str
    """Unit of `value`; empty for a ratio."""
    n: int
    """Number of repetitions that the value is computed from."""
    value: float
    """Median of the figure over the repetitions."""


class Unread(msgspec.Struct, frozen=True):
    """A run that is left out, and why."""

    run: str
    reason: str


class _Read(msgspec.Struct, frozen=True):
    """A run without its records: conditions, plan, and the file that the records are in."""

    conditions: Conditions
    plan: Plan
    records: Path


def figures(
    folder: Path, metric: str = "duration_s", *, ratio: bool = False
) -> tuple[tuple[RunFigure, ...], tuple[Unread, ...]]:
    """Figures of all runs in a folder, the oldest first, and the runs that cannot be read.

    With `ratio` a figure is the median ratio to the baseline's repetition of the same round, which
    ran beside it. Failed and warm-up repetitions do not count; the last record of a run that is
    being written is left out. Errors: UsageError if `folder` is no folder.
    """
    read, unread = _read_all(list_folders(folder))
    rows = _rows(read, metric, ratio=ratio)
    found = [
        RunFigure(
            conditions=one.conditions,
            experiment=one.plan.name,
            group=cell.group,
            environment=cell.environment,
            work=_work(one.plan, cell),
            metric=metric,
            unit=unit,
            n=n,
            value=value,
        )
        for one in read
        for cell in one.plan.cells
        if (row := rows.get((str(one.records), cell.id))) is not None
        for n, value, unit in (row,)
    ]
    found.sort(key=lambda one: (one.conditions.started_unix_ns, one.conditions.run))
    return tuple(found), tuple(unread)


def _read_all(folders: Iterable[Path]) -> tuple[list[_Read], list[Unread]]:
    read, unread = [], []
    for folder in folders:
        try:
            manifest = read_manifest(folder)
            provenance = read_json(folder / PROVENANCE, Provenance)
            plan = read_plan(folder)
            if exists(folder / RECORDS):
                with refusals(folder / RECORDS, "read"):
                    (folder / RECORDS).open("rb").close()
                one = conditions(folder, manifest, provenance)
                read.append(_Read(one, plan, (folder / RECORDS).absolute()))
        except AferirError as error:
            unread.append(Unread(folder.name, error.message))
    return read, unread


def conditions(folder: Path, manifest: Manifest, provenance: Provenance) -> Conditions:
    """Conditions of a run by its provenance; text is empty if an older run does not say."""
    machine = _part(provenance.facts, "machine")
    software = _part(provenance.facts, "software")
    model = str(machine.get("cpu_model") or "")
    host = str(machine.get("host_name") or "")
    return Conditions(
        run=folder.name,
        started_unix_ns=manifest.created_unix_ns,
        commit=str(software.get("project_revision") or software.get("git_revision") or ""),
        kernel=str(machine.get("kernel") or "").partition(" ")[0],
        host=f"{host} ({model})" if model else host,
        version=provenance.version,
    )


def conditions_of(run: Run) -> Conditions:
    """Conditions of a run that was read as a whole."""
    return conditions(run.folder.resolve(), run.manifest, run.provenance)


def _part(facts: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = facts.get(name, {})
    return part if isinstance(part, dict) else {}


def _rows(
    read: Sequence[_Read], metric: str, *, ratio: bool
) -> dict[tuple[str, str], tuple[int, float, str]]:
    """Count, median and unit of the metric, by records file and cell."""
    if not read:
        return {}
    with duckdb.connect() as connection:
        if ratio:
            connection.execute(
                "CREATE TABLE base (filename VARCHAR, cell VARCHAR, baseline VARCHAR)"
            )
            connection.executemany("INSERT INTO base VALUES (?, ?, ?)", list(_baselines(read)))
        rows = connection.execute(
            _FIGURES + (_RATIO if ratio else _OWN),
            {
                "files": [glob.escape(str(one.records)) for one in read],
                "columns": RECORD_COLUMNS,
                "longest": _LONGEST_LINE,
                "metric": metric,
            },
        ).fetchall()
    return {(file, cell): (n, value, unit or "") for file, cell, n, value, unit in rows}


def _baselines(read: Sequence[_Read]) -> Iterator[tuple[str, str, str]]:
    """Each cell that is compared with a baseline: records file, ID, and the baseline's ID."""
    for one in read:
        plan = one.plan
        baselines = {
            cell.group: cell.id
            for cell in plan.cells
            if environment_family(cell.environment) == plan.baseline
        }
        for cell in plan.cells:
            if (other := baselines.get(cell.group, cell.id)) != cell.id:
                yield str(one.records), cell.id, other


def _work(plan: Plan, cell: Cell) -> str:
    """Text that is equal for cells that do the same work in the same kind of environment."""
    kinds = {spec.name: spec.place for spec in plan.environments}
    parameters = sorted(cell.workload.parameters.items())
    said = " ".join(f"{name}={value}" for name, value in parameters)
    return f"{cell.workload.program} {said} in {kinds.get(cell.environment, '')}"
