"""Compares NPB with MPI processes and NPB with threads on one host: the cost of messages.

Processes and threads alternate in equal numbers, so that noise of the machine affects both alike,
and each round gives one ratio of operations per second. Many machines have fewer than four
processors, so the ratio for four processes is shown, but not compared with the target.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import msgspec

from aferir.errors import AferirError
from aferir.linux import process
from aferir.model.bench import Figure
from aferir.model.plan import Parameter
from aferir.model.record import Sample
from aferir.programs.base import Program, read_parameters
from aferir.programs.npb.ranks import MPI_KERNELS, NPB_MPI
from aferir.programs.npb.threads import NPB
from aferir.selftest.effort import Effort
from aferir.selftest.options import BenchOptions, Note
from aferir.statistics.ratio import Ratio, paired_ratio

_CLASSES = ("S", "W", "A")
_QUICK_CLASSES = ("W",)
_PROCESSES = (1, 2, 4)
_QUICK_PROCESSES = (1, 2)
_JUDGED = (1, 2)
_TARGET = 0.95
_TIME_LIMIT_S = 600.0


_EFFORT = Effort(least=5, most=301, seconds=60.0, target=_TARGET)
_LONG_EFFORT = Effort(least=3, most=301, seconds=120.0, target=_TARGET)
_SHOWN_EFFORT = Effort(least=1, most=7, seconds=2.0, target=_TARGET)
_QUICK_EFFORT = Effort(least=3, most=3, seconds=0.0, target=_TARGET)
_LONG_CLASS = "A"


class MpiCase(msgspec.Struct, frozen=True):
    """One case of the bench: a kernel, a class, and a number of processes (or of threads)."""

    kernel: str
    problem_class: str
    processes: int

    @property
    def name(self) -> str:
        """Name of the case, for example `mpi.cg.A.2`."""
        return f"mpi.{self.kernel}.{self.problem_class}.{self.processes}"


def mpi_cases(options: BenchOptions) -> list[MpiCase]:
    """Cases that the options select; none if no MPI is installed."""
    if not any(finding.status == "ok" for finding in NPB_MPI.check()):
        return []
    classes = _QUICK_CLASSES if options.quick else _CLASSES
    processes = _QUICK_PROCESSES if options.quick else _PROCESSES
    cases = [MpiCase(k, c, n) for c in classes for k in MPI_KERNELS for n in processes]
    return [
        case
        for case in cases
        if not options.only or any(f"{case.name}.".startswith(f"{o}.") for o in options.only)
    ]


def mpi_figures(cases: Sequence[MpiCase], options: BenchOptions, note: Note) -> list[Figure]:
    """One figure for each case: operations per second of the processes over the threads."""
    figures = []
    for done, case in enumerate(cases):
        note(case.name, done / len(cases))
        figures.append(_figure(case, effort_for(case, quick=options.quick)))
    return figures


def effort_for(case: MpiCase, *, quick: bool) -> Effort:
    """Limits on the rounds of a case."""
    if quick:
        return _QUICK_EFFORT
    if case.processes not in _JUDGED:
        return _SHOWN_EFFORT
    return _LONG_EFFORT if case.problem_class == _LONG_CLASS else _EFFORT


def _figure(case: MpiCase, effort: Effort) -> Figure:
    problem = ""
    pairs: list[tuple[float, float]] = []
    try:
        pairs = _run_in_pairs(case, effort)
    except AferirError as error:
        problem = error.message
    ours, theirs = [mine for mine, _ in pairs], [other for _, other in pairs]
    ratio = _ratio(pairs)
    estimate = None if ratio is None else ratio.estimate
    found = None if ratio is None else ratio.interval
    judged = case.processes in _JUDGED
    return Figure(
        name=f"{case.name}.over_openmp",
        value=estimate or 0.0,
        unit="ratio",
        n=len(pairs),
        interval=None if found is None else (found.low, found.high),
        target=f">= {_TARGET}" if judged else "verified",
        holds=estimate is not None and (estimate >= _TARGET or not judged),
        peer="aferir's OpenMP",
        peer_value=median(theirs) if theirs else None,
        note=problem or f"{median(ours):.4g} Mop/s by messages",
    )


def _run_in_pairs(case: MpiCase, effort: Effort) -> list[tuple[float, float]]:
    """Run the MPI and the OpenMP program alternately until the ratio is known well enough.

    Returns pairs (MPI, OpenMP) of rates in Mop/s. Errors: those of the programs.
    """
    common: dict[str, Parameter] = {"kernel": case.kernel, "class": case.problem_class}
    pairs: list[tuple[float, float]] = []
    begin = time.monotonic()
    while not effort.is_enough(len(pairs), time.monotonic() - begin, _ratio(pairs)):
        found: dict[bool, float] = {}
        # The second program finds a warmer machine, so the order alternates.
        for by_messages in (True, False) if len(pairs) % 2 else (False, True):
            found[by_messages] = (
                _mops(
                    NPB_MPI, {**common, "processes": case.processes, "share_among": case.processes}
                )
                if by_messages
                else _mops(NPB, {**common, "threads": case.processes})
            )
        pairs.append((found[True], found[False]))
    return pairs


def _ratio(pairs: Sequence[tuple[float, float]]) -> Ratio | None:
    return paired_ratio(*zip(*pairs, strict=True)) if pairs else None


def _mops(program: Program[Any], parameters: Mapping[str, Parameter]) -> float:
    command = program.command(read_parameters(program, parameters))
    done = process.run(
        [str(command.program), *command.arguments],
        environment=command.environment,
        timeout_s=_TIME_LIMIT_S,
        check=False,
    )
    figures = program.parse(done.stdout)
    samples = {f.metric: f.value for f in figures if isinstance(f, Sample)}
    return samples["throughput_mops"]
