"""Run ElasticMovie on real instances: the short experiment, its phases, and faults."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import msgspec

from aferir.clouds import simulated
from aferir.elastic.program import ALLOCATION, AllocationParameters
from aferir.errors import AferirError
from aferir.linux import process
from aferir.model.bench import Figure
from aferir.model.record import Record
from aferir.programs.kernels import finite, read_figures
from aferir.selftest.options import BenchOptions, Note
from aferir.store import open_run
from benchmarks.elastic.faults import sequences, summary

_EXPERIMENT = Path("experiments/elasticmovie-short.toml")
_MOST_S = 600.0
_AGREES = 0.1
_ALLOCATIONS, _QUICK_ALLOCATIONS = 10, 2
_SEQUENCES, _QUICK_SEQUENCES = 20, 3
_LIMIT_S = 1800.0


def figures(options: BenchOptions, note: Note) -> list[Figure]:
    """Return the figures that this machine can measure, or one that says what is missing."""
    for finding in (*simulated.check("container"), *ALLOCATION.check()):
        if finding.status == "missing":
            said = f"{finding.message}; {finding.remedy}"
            return [Figure(name="hosts", value=None, unit="1", n=0, note=said)]
    try:
        found = [_phases(options, note), _faults(options, note)]
        if not options.quick:
            found += _movie(note)
    except AferirError as error:
        found = [Figure(name="hosts", value=None, unit="1", n=0, note=error.message)]
    return found


def _phases(options: BenchOptions, note: Note) -> Figure:
    """Judge the largest difference between the sum of phases and a stopwatch around the call."""
    differences = []
    for k in range(_QUICK_ALLOCATIONS if options.quick else _ALLOCATIONS):
        note("allocation, phase by phase", 0.55 + 0.005 * k)
        command = ALLOCATION.command(AllocationParameters(cache="warm" if k % 2 else "cold"))
        line = [str(command.program), *command.arguments]
        read = read_figures(process.run(line, timeout_s=_LIMIT_S).stdout, ALLOCATION.name)
        samples = msgspec.convert(read["samples"], tuple[dict[str, object], ...])
        values = {str(one["metric"]): finite(one, "value") for one in samples}
        whole_s = values["tef_s"] + values["tci_s"] + values["tii_s"]
        differences.append(abs(whole_s / values["duration_s"] - 1))
    return Figure(
        name="hosts.phases",
        value=max(differences),
        unit="1",
        n=len(differences),
        target=f"<= {_AGREES:g}",
        holds=max(differences) <= _AGREES,
        note="TeF + TcI + TiI beside a stopwatch around the call, the worst of all allocations",
    )


def _faults(options: BenchOptions, note: Note) -> Figure:
    wanted = _QUICK_SEQUENCES if options.quick else _SEQUENCES
    outcomes = sequences(
        wanted,
        options.seed,
        lambda number: note("faults on real containers", 0.6 + 0.15 * number / wanted),
    )
    wrong = [one for one in outcomes if not one.accounted or one.leaks]
    return Figure(
        name="hosts.faults",
        value=float(len(wrong)),
        unit="sequences",
        n=len(outcomes),
        target="= 0",
        holds=not wrong,
        note=f"in which a client was lost or an instance leaked; {summary(outcomes)}",
    )


def _movie(note: Note) -> list[Figure]:
    """Run the short experiment as a user does."""
    if not _EXPERIMENT.exists():
        said = f"{_EXPERIMENT} is not here; run the bench where the sources are"
        return [Figure(name="movie.duration", value=None, unit="s", n=0, note=said)]
    note("the short experiment, some minutes", 0.75)
    with tempfile.TemporaryDirectory(prefix="aferir-movie-") as name:
        runs = ["--new", "--runs", name]
        command = [sys.executable, "-m", "aferir", "run", str(_EXPERIMENT), *runs]
        done = process.run(command, timeout_s=_LIMIT_S)
        records = open_run(next(Path(name).iterdir())).records
    movies = [record for record in records if record.workload.endswith("viewers")]
    lost = [record for record in movies if not _accounted(record)]
    return [
        Figure(
            name="movie.duration",
            value=done.duration_s,
            unit="s",
            n=1,
            target=f"< {_MOST_S:g}",
            holds=done.duration_s < _MOST_S,
            note=f"{_EXPERIMENT.name}, {len(movies)} repetitions",
        ),
        Figure(
            name="movie.unaccounted",
            value=float(len(lost)),
            unit="repetitions",
            n=len(movies),
            target="= 0",
            holds=not lost and bool(movies),
            note="received = served + blocked + abandoned + failed",
        ),
    ]


def _accounted(record: Record) -> bool:
    values = {sample.metric: sample.value for sample in record.samples}
    outcomes = ("served", "blocked", "abandoned", "failed")
    return values.get("requests", -1.0) == sum(values.get(name, 0.0) for name in outcomes)
