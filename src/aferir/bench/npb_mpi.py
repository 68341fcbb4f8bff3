"""NPB by message passing beside NPB by threads, on one host: what the messages cost.

Processes and threads run alternately, as many of the one as of the other, so that the noise of the
machine hits both alike, and each round gives one ratio of operations per second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

import msgspec

from aferir import process
from aferir.bench.options import BenchOptions, Note
from aferir.errors import AferirError
from aferir.model.bench import Figure
from aferir.model.plan import Parameter
from aferir.model.record import Sample
from aferir.statistics.ratio import paired_ratio
from aferir.workloads.npb import NPB, NpbWorkload
from aferir.workloads.npb_mpi import MPI_KERNELS, NPB_MPI, NpbMpiWorkload

_PROCESSES = (1, 2)
_ROUNDS = {"W": 9, "A": 7}
_QUICK_ROUNDS = {"W": 3}
_TARGET = 0.95
_TIME_LIMIT_S = 600.0


class MpiCase(msgspec.Struct, frozen=True):
    """One kernel, class and number of processes, or of threads."""

    kernel: str
    problem_class: str
    processes: int

    @property
    def name(self) -> str:
        """For example `mpi.cg.A.2`."""
        return f"mpi.{self.kernel}.{self.problem_class}.{self.processes}"


def mpi_cases(options: BenchOptions) -> list[MpiCase]:
    """The cases that the options ask for; none where no MPI is here."""
    if not any(finding.status == "ok" for finding in NPB_MPI.check()):
        return []
    rounds = _QUICK_ROUNDS if options.quick else _ROUNDS
    cases = [MpiCase(k, c, n) for c in rounds for k in MPI_KERNELS for n in _PROCESSES]
    return [
        case
        for case in cases
        if not options.only or any(f"{case.name}.".startswith(f"{o}.") for o in options.only)
    ]


def mpi_figures(cases: Sequence[MpiCase], options: BenchOptions, note: Note) -> list[Figure]:
    """One figure for each case: operations per second of the processes over the threads."""
    rounds = _QUICK_ROUNDS if options.quick else _ROUNDS
    figures = []
    for done, case in enumerate(cases):
        note(case.name, done / len(cases))
        figures.append(_figure(case, rounds[case.problem_class]))
    return figures


def _figure(case: MpiCase, rounds: int) -> Figure:
    common: dict[str, Parameter] = {"kernel": case.kernel, "class": case.problem_class}
    ours: list[float] = []
    theirs: list[float] = []
    problem = ""
    try:
        for k in range(rounds):
            # Whoever goes second finds a warmer machine, so each is second every other time.
            for by_messages in (True, False) if k % 2 else (False, True):
                if by_messages:
                    ours.append(_mops(NPB_MPI, {**common, "processes": case.processes}))
                else:
                    theirs.append(_mops(NPB, {**common, "threads": case.processes}))
    except AferirError as error:
        problem = error.message
    ratio = None if problem else paired_ratio(ours, theirs)
    estimate = None if ratio is None else ratio.estimate
    found = None if ratio is None or ratio.interval is None else ratio.interval
    return Figure(
        name=f"{case.name}.over_openmp",
        value=estimate or 0.0,
        unit="ratio",
        n=len(ours),
        interval=None if found is None else (found.low, found.high),
        target=f">= {_TARGET}",
        holds=estimate is not None and estimate >= _TARGET,
        peer="aferir's OpenMP",
        peer_value=median(theirs) if theirs else None,
        note=problem or f"{median(ours):.4g} Mop/s by messages",
    )


def _mops(workload: NpbWorkload | NpbMpiWorkload, parameters: Mapping[str, Parameter]) -> float:
    command = workload.command(parameters)
    done = process.run(
        [str(command.program), *command.arguments],
        environment=command.environment,
        timeout_s=_TIME_LIMIT_S,
        check=False,
    )
    figures = workload.parse(done.stdout)
    samples = {f.metric: f.value for f in figures if isinstance(f, Sample)}
    return samples["throughput_mops"]
