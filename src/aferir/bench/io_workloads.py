"""The programs of I/O in their short form: run natively and in a container, verified, cleaned up.

Whatever is registered in `aferir.workloads` and has `short_io` takes part; nothing is listed here.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from aferir import machine, runner, workloads
from aferir.bench.leftovers import leftovers
from aferir.bench.options import BenchOptions, Note
from aferir.config.expand import image_packages
from aferir.environments import by_kind
from aferir.errors import MissingError
from aferir.model.bench import Figure
from aferir.model.plan import Cell, EnvironmentSpec, Plan, StoppingRule, WorkloadSpec
from aferir.model.record import Record
from aferir.workloads.base import VOLUME, IoWorkload

LIMIT_S = 3600.0
"""All of them together, in both environments."""
EXPECTED = 8
_CELL_LIMIT_S = 900.0
_MOST_MEMORY = 16 * 2**30


def marked() -> dict[str, IoWorkload]:
    """Programs that have a short form, by their name in an experiment file."""
    known = workloads.all_workloads()
    return {name: one for name, one in known.items() if isinstance(one, IoWorkload)}


def figures(options: BenchOptions, note: Note) -> list[Figure]:
    """One figure a program and environment, and how long all took. Quick: the first form alone."""
    if not marked():
        return [_none()]
    plan = plan_of(marked(), quick=options.quick, seed=options.seed)
    note(f"{len(plan.cells)} cells of {len(marked())} programs", 0.0)
    with tempfile.TemporaryDirectory(prefix="aferir-io-") as folder:
        try:
            run = runner.run(
                plan,
                Path(folder),
                experiment=b"",
                environments={spec.kind: by_kind(spec.kind) for spec in plan.environments},
                workloads=workloads.all_workloads(),
            )
        except MissingError as error:
            return [_none(error.message)]
    records = {record.cell: record for record in run.records if record.workload != "allocation"}
    left = leftovers(frozenset({os.getpid()}))
    spent = sum(_elapsed(record) for record in records.values())
    return [
        *(_of_cell(cell, records.get(cell.id)) for cell in plan.cells),
        Figure(
            name="workloads.duration",
            value=spent,
            unit="s",
            n=len(records),
            target=f"<= {LIMIT_S:g}",
            holds=spent <= LIMIT_S,
        ),
        Figure(
            name="workloads.left_behind",
            value=float(len(left)),
            unit="things",
            n=len(records),
            target="== 0",
            holds=not left,
            note="; ".join(left[:3]),
        ),
    ]


def plan_of(programs: Mapping[str, IoWorkload], *, quick: bool, seed: int) -> Plan:
    """Every short form once in each environment; quick: the first form of each."""
    limits = machine.host_limits()
    memory = min(_MOST_MEMORY, limits.memory_bytes * 3 // 4)
    environments = (
        EnvironmentSpec(
            name="native", kind="native", cpus=len(limits.cpus), memory_bytes=limits.memory_bytes
        ),
        EnvironmentSpec(
            name="container",
            kind="container",
            cpus=len(limits.cpus),
            memory_bytes=memory,
            packages=image_packages(
                (one, parameters) for one in programs.values() for parameters in one.short_io
            ),
        ),
    )
    specs = [
        WorkloadSpec(
            name=name if place == 0 else f"{name}-{place + 1}",
            program=name,
            parameters=dict(parameters),
            time_limit_s=_CELL_LIMIT_S,
        )
        for name, one in programs.items()
        for place, parameters in enumerate(one.short_io[:1] if quick else one.short_io)
    ]
    return Plan(
        name="io-workloads",
        title="Programs of I/O in their short form",
        baseline="native",
        seed=seed,
        order="interleaved",
        warmup=0,
        stop=StoppingRule(minimum=1, maximum=1, emulated=1),
        time_limit_s=LIMIT_S,
        environments=environments,
        cells=tuple(
            Cell(
                id=f"{environment.name}/{spec.name}",
                group=spec.name,
                environment=environment.name,
                workload=spec,
            )
            for spec in specs
            for environment in environments
        ),
    )


def _of_cell(cell: Cell, record: Record | None) -> Figure:
    name = f"workloads.{cell.workload.name}.{cell.environment}"
    failure = record.failure if record is not None else None
    if record is None or failure is not None:
        why = failure.message if failure is not None else "it could not run here"
        return Figure(
            name=name, value=None, unit="s", n=1, target="verified", holds=False, note=why
        )
    volume = next((s.value for s in record.samples if s.metric == VOLUME), None)
    duration = next((s.value for s in record.samples if s.metric == "duration_s"), None)
    return Figure(
        name=name,
        value=duration,
        unit="s",
        n=1,
        target="verified",
        holds=volume is not None and volume > 0,
        note=f"it reports no {VOLUME}" if volume is None else f"{volume:.4g} B",
    )


def _elapsed(record: Record) -> float:
    return sum(s.value for s in record.samples if s.metric == "elapsed_s")


def _none(why: str = "no program of I/O is registered") -> Figure:
    return Figure(
        name="workloads.verified", value=None, unit="cells", n=0, target="all verified", note=why
    )
