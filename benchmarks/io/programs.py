"""Run the short form of the I/O programs natively and in a container; verify and clean up.

Every program that is registered in `aferir.registry` and has `short_io` takes part; there is no
list here.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from aferir import machine, registry, runner
from aferir.errors import MissingError
from aferir.model.bench import Figure
from aferir.model.plan import Cell, EnvironmentSpec, Plan, WorkloadSpec, once
from aferir.model.record import Record
from aferir.programs.base import VOLUME, Program, image_packages
from aferir.runner.progress import Silent
from aferir.selftest.leftovers import judge_leftovers, leftovers, own_state
from aferir.selftest.options import BenchOptions, Note

LIMIT_S = 3600.0
"""Longest time in seconds of all programs together, in both environments."""
_CELL_LIMIT_S = 900.0
_MOST_MEMORY = 16 * 2**30


def marked() -> dict[str, Program[Any]]:
    """Return the programs that have a short form, by their name in an experiment file."""
    known = registry.all_programs()
    return {name: one for name, one in known.items() if one.short_io}


def figures(options: BenchOptions, note: Note) -> list[Figure]:
    """Return one figure for each program and environment, and the total time.

    A quick bench runs the first form of each program alone.
    """
    if not marked():
        return [_none()]
    plan = plan_of(marked(), quick=options.quick, seed=options.seed)
    clock = time.monotonic()
    try:
        with own_state() as state:
            run = runner.run(
                plan,
                state / "runs",
                experiment=b"",
                kinds=registry.kinds(),
                workloads=registry.all_programs(),
                progress=_Noted(note),
            )
            left = leftovers(state)
    except MissingError as error:
        return [_none(error.message)]
    records = {record.cell: record for record in run.records if record.workload != "allocation"}
    lacking = {item.name: item.finding.message for item in run.provenance.left_out}
    return [
        *(_of_cell(cell, records.get(cell.id), lacking) for cell in plan.cells),
        duration("workloads.duration", time.monotonic() - clock, len(records)),
        judge_leftovers("workloads.left_behind", left, len(records)),
    ]


def duration(name: str, seconds: float, n: int) -> Figure:
    """Return the wall time as a figure, the making of images and instances included."""
    return Figure(
        name=name,
        value=seconds,
        unit="s",
        n=n,
        target=f"<= {LIMIT_S:g}",
        holds=seconds <= LIMIT_S,
    )


def plan_of(programs: Mapping[str, Program[Any]], *, quick: bool, seed: int) -> Plan:
    """Plan every short form once in each environment; quick: the first form of each."""
    limits = machine.host_limits()
    native = EnvironmentSpec(
        name="native", kind="native", cpus=len(limits.cpus), memory_bytes=limits.memory_bytes
    )
    forms = [
        (name if place == 0 else f"{name}-{place + 1}", one, parameters)
        for name, one in programs.items()
        for place, parameters in enumerate(one.short_io[:1] if quick else one.short_io)
    ]
    container = EnvironmentSpec(
        name="container",
        kind="container",
        cpus=len(limits.cpus),
        memory_bytes=min(_MOST_MEMORY, limits.memory_bytes * 3 // 4),
        packages=image_packages((one, parameters) for _, one, parameters in forms),
    )
    return once(
        "io-workloads",
        environments=(native, container),
        workloads=[
            WorkloadSpec(
                name=name,
                program=one.name,
                parameters=dict(parameters),
                time_limit_s=_CELL_LIMIT_S,
            )
            for name, one, parameters in forms
        ],
        time_limit_s=LIMIT_S,
        seed=seed,
    )


class _Noted(Silent):
    """Report which cell is being measured."""

    def __init__(self, note: Note) -> None:
        self._note = note

    def cell_started(self, cell: Cell, index: int, total: int, eta_s: float | None) -> None:
        """Report the cell, with the share of cells that are finished."""
        self._note(cell.id, (index - 1) / total)


def _of_cell(cell: Cell, record: Record | None, lacking: Mapping[str, str]) -> Figure:
    name = f"workloads.{cell.workload.name}.{cell.environment}"
    failure = record.failure if record is not None else None
    if record is None or failure is not None:
        known = lacking.get(cell.workload.name) or lacking.get(cell.environment)
        why = failure.message if failure is not None else known or "the time was up"
        return Figure(
            name=name, value=None, unit="s", n=1, target="verified", holds=False, note=why
        )
    volume = next((s.value for s in record.samples if s.metric == VOLUME), None)
    took = next((s.value for s in record.samples if s.metric == "duration_s"), None)
    return Figure(
        name=name,
        value=took,
        unit="s",
        n=1,
        target="verified",
        holds=volume is not None and volume > 0,
        note=f"it reports no {VOLUME}" if volume is None else f"{volume:.4g} B",
    )


def _none(why: str = "no program of I/O is registered") -> Figure:
    return Figure(
        name="workloads.verified", value=None, unit="cells", n=0, target="all verified", note=why
    )
