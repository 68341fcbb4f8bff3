"""One repetition of one cell: run it between two snapshots, and read what came out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import msgspec

from aferir.environments.base import Instance, Kind
from aferir.errors import ProgramError, UnverifiedError
from aferir.linux.process import Completed, explain_exit
from aferir.measuring.outcome import complaint, failure_of, told_apart
from aferir.measuring.run import measure
from aferir.measuring.snapshots import Watch
from aferir.model.plan import Cell
from aferir.model.record import Failure, Record, Sample, Series, Warning
from aferir.programs.base import ASIDE, PROGRAM_FOLDER, Command, Program
from aferir.runner.estimate import ELAPSED
from aferir.runner.pool import IS_EMULATED, of_user_kernel
from aferir.runner.stopping import Round
from aferir.runner.tenancy import Figures, together

OTHERS = "load_of_others_cpus"
"""The sample of the probe that watches what else the machine does."""
REPETITION = "AFERIR_REPETITION"
"""Variable that tells a program which repetition it is: whoever draws at random draws anew."""
_OTHERS_CPUS = 0.1
_OTHERS_S = 0.05
"""Below this much CPU time the tick accounting of /proc/stat says nothing (10 ms a tick)."""


class Repetition(msgspec.Struct, frozen=True):
    """What came of it."""

    record: Record
    lost: bool = False
    """The instance died, or a program may still run in it: it has to be replaced."""
    stopped_s: float = 0.0
    """How long somebody had stopped the program."""


def repeat(
    cell: Cell,
    turn: Round,
    instance: Instance,
    *,
    kind: Kind,
    command: Command,
    program: Program[Any],
    watch: Watch,
    timeout_s: float,
) -> Repetition:
    """Run the cell once in a paused instance, and pause it again."""
    started = time.time_ns()
    line = command_line(kind, command, elsewhere=bool(instance.spec.host))
    told = {**command.environment, REPETITION: str(turn.number)}
    ran = measure(instance, line, told, watch, timeout_s)
    samples: tuple[Sample, ...] = ()
    series: tuple[Series, ...] = ()
    doubts: tuple[Warning, ...] = ()
    failure = ran.failure
    if ran.done is not None and failure is None:
        figures = read(program, ran.done)
        if isinstance(figures, Failure):
            failure = figures
        else:
            elapsed = Sample(ELAPSED, ran.done.duration_s, "s", "environment")
            own = tuple(figure for figure in figures if isinstance(figure, Sample))
            if command.counts_start:
                own = with_start(own, ran.done.duration_s)
            samples = (*own, elapsed, *ran.observed)
            own_series = (figure for figure in figures if isinstance(figure, Series))
            series = (*own_series, *ran.loads)
            doubts = tuple(figure for figure in figures if isinstance(figure, Warning))
    if failure is not None:
        failure = told_apart(failure, ran.done, ran.observed)
    warnings = (*doubts, *of_user_kernel(instance.spec))
    warnings += (IS_EMULATED,) if instance.emulated else ()
    if ran.done is not None:
        warnings += load_warning(ran.observed, ran.done.duration_s)
    record = blank(cell, turn, started, line)
    return Repetition(
        msgspec.structs.replace(
            record, samples=samples, series=series, warnings=warnings, failure=failure
        ),
        lost=ran.lost,
        stopped_s=max((o.stopped_s for o in (ran.done, *ran.done.others)), default=0.0)
        if ran.done is not None
        else 0.0,
    )


def with_start(figures: Sequence[Sample], elapsed_s: float) -> tuple[Sample, ...]:
    """`duration_s` as all that passed from the request on, but for what the program put aside."""
    aside_s = sum(figure.value for figure in figures if figure.metric == ASIDE)
    return tuple(
        msgspec.structs.replace(figure, value=max(0.0, elapsed_s - aside_s))
        if figure.metric == "duration_s"
        else figure
        for figure in figures
    )


def blank(cell: Cell, turn: Round, started_unix_ns: int, line: tuple[str, ...] = ()) -> Record:
    """A record of a cell with nothing measured yet."""
    return Record(
        cell=cell.id,
        group=cell.group,
        environment=cell.environment,
        workload=cell.workload.name,
        factors=cell.factors,
        repetition=turn.number,
        warmup=turn.warmup,
        started_unix_ns=started_unix_ns,
        command=line,
    )


def command_line(kind: Kind, command: Command, *, elsewhere: bool = False) -> tuple[str, ...]:
    """On the host a program runs where it is; elsewhere it was put into `PROGRAM_FOLDER`.

    Instances of several nodes have an mpirun of their own.
    """
    if kind.on_host and not elsewhere:
        return (str(command.program), *command.arguments)
    launched = command.launched if has_launcher(kind, elsewhere=elsewhere) else None
    paths = (launched or command.program, *command.files)
    put = {str(path): str(PROGRAM_FOLDER / path.name) for path in paths}
    first = command.program.name if launched else put[str(command.program)]
    return (first, *(put.get(word, word) for word in command.arguments))


def has_launcher(kind: Kind, *, elsewhere: bool) -> bool:
    """Whether MPI programs are started there by an mpirun that is there: not by ours, put there."""
    return bool(kind.mpi) or (kind.on_host and elsewhere)


def read(program: Program[Any], done: Completed) -> Figures | Failure:
    """Figures of a program that ended well, in all tenants; else why there are none.

    A program that found its own result wrong prints that before it exits with 1.
    """
    tenants = []
    for one in (done, *done.others):
        figures = _read_one(program, one)
        if isinstance(figures, Failure):
            return figures
        tenants.append(figures)
    return together(tenants)


def _read_one(program: Program[Any], done: Completed) -> Figures | Failure:
    samples: Figures = ()
    try:
        samples = program.parse(done.stdout)
    except UnverifiedError as error:
        return failure_of("unverified", error)
    except ProgramError as error:
        if done.exit_code == 0:
            return failure_of("program", error)
    if done.exit_code == 0:
        return samples
    told = complaint(done.stdout)
    return told or Failure("program", f"`{done.command[0]}` {explain_exit(done)}")


def load_warning(observed: Sequence[Sample], duration_s: float) -> tuple[Warning, ...]:
    """A warning where others kept the machine busy during a run."""
    cpus = max((sample.value for sample in observed if sample.metric == OTHERS), default=0.0)
    if cpus <= _OTHERS_CPUS or cpus * duration_s <= _OTHERS_S:
        return ()
    return (
        Warning(
            "load-of-others",
            "other programs, or other guests of this machine, kept CPUs busy during the run",
            "stop them, or make more repetitions and look at the medians",
        ),
    )
