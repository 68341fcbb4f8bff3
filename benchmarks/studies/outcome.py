"""Reads the outcome of a study's run from its folder, so that no run is needed twice."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from aferir.model.bench import Figure
from aferir.model.provenance import cut_short
from aferir.model.record import Record
from aferir.runner.pool import IS_EMULATED
from aferir.store import Run, list_runs, open_run
from aferir.store.run import EXPERIMENT
from benchmarks.studies.steps import file_of

_HOSTS = b"\n\n[[host]]"
"""What the hosts of another file begin with where they are appended to an experiment."""


def finished(runs: Path, name: str) -> Run | None:
    """Newest complete run of the experiment file as it is now, on any hosts; None if none is."""
    wanted = file_of(name).read_bytes()
    for summary in list_runs(runs) if runs.is_dir() else ():
        if summary.name == name and summary.status == "complete":
            ran, _, _ = (summary.folder / EXPERIMENT).read_bytes().partition(_HOSTS)
            if ran == wanted:
                return open_run(summary.folder)
    return None


def figures_of(figure: str, run: Run) -> list[Figure]:
    """Count the cells without a figure, and the repetitions; a note counts the cells left out.

    A cell is left out if the machine cannot run it, or if it skips emulation (`emulated = "skip"`)
    and its guest is emulated; neither is a failure of the study.
    """
    every = {cell.id for cell in run.plan.cells}
    able = (every & run.provenance.commands.keys()) - _skipped(run)
    good = [record for record in run.records if record.cell in every and _counts(record)]
    without = sorted(able - {record.cell for record in good})
    spent_s = next((one.spent_s for one in reversed(run.provenance.segments) if one.spent_s), 0.0)
    return [
        Figure(
            name=f"{figure}.cells_without_figures",
            value=float(len(without)),
            unit="cells",
            n=len(able),
            target="== 0",
            holds=not without,
            note="; ".join(
                [
                    *_failures(run.records, without),
                    *([f"{len(every - able)} cells left out"] if every - able else []),
                ]
            ),
        ),
        Figure(
            name=f"{figure}.repetitions",
            value=float(len(good)),
            unit="repetitions",
            n=len(able),
            note="; ".join(filter(None, (f"{spent_s:.0f} s", cut_short(run.provenance.warnings)))),
        ),
    ]


def incomplete(figure: str, why: str) -> Figure:
    """Figure that misses its target, for a file without a complete run."""
    return Figure(
        name=f"{figure}.cells_without_figures",
        value=None,
        unit="cells",
        n=0,
        target="== 0",
        holds=False,
        note=why,
    )


def _skipped(run: Run) -> set[str]:
    """Cells that skip emulation, and whose environment was emulated."""
    emulated = {
        record.environment
        for record in run.records
        if IS_EMULATED.code in {warning.code for warning in record.warnings}
    }
    return {
        cell.id
        for cell in run.plan.cells
        if cell.workload.skip_emulated and cell.environment in emulated
    }


def _counts(record: Record) -> bool:
    return record.failure is None and not record.warmup


def _failures(records: Iterable[Record], cells: Iterable[str]) -> list[str]:
    """First failure of each of those cells, at most three."""
    first = {one.cell: one.failure.message for one in reversed([*records]) if one.failure}
    return [f"{cell}: {first.get(cell, 'never started')}" for cell in cells][:3]
