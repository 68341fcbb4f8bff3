"""Runs one repetition of one cell between two snapshots, and parses its output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from aferir.environments.base import Instance, Kind
from aferir.errors import MissingError, ProgramError, UnverifiedError
from aferir.linux import steady
from aferir.linux.process import Completed, explain_exit
from aferir.measuring import cost, energy
from aferir.measuring.outcome import complaint, failure_of, told_apart
from aferir.measuring.run import measure
from aferir.measuring.snapshots import Watch
from aferir.measuring.timing import placed
from aferir.model.plan import Cell
from aferir.model.record import MISSING, Failure, Record, Sample, Series, Warning
from aferir.model.stamps import Stamp
from aferir.programs.base import ASIDE, PROGRAM_FOLDER, Command, Program
from aferir.runner.estimate import ELAPSED
from aferir.runner.pool import IS_EMULATED, of_user_kernel
from aferir.runner.stopping import Round
from aferir.runner.tenancy import Figures, together

OTHERS = "load_of_others_cpus"
"""Metric of the mean number of CPUs that processes other than the instance kept busy."""
REPETITION = "AFERIR_REPETITION"
"""Environment variable with the number of the repetition, with which programs seed random draws."""
_OTHERS_CPUS = 0.1
_OTHERS_S = 0.05
"""Least CPU time of others that is warned about, in s: /proc/stat counts in ticks of 10 ms."""


class Repetition(msgspec.Struct, frozen=True):
    """Outcome of one repetition."""

    record: Record
    lost: bool = False
    """True if the instance died or a program may still run in it, so that it must be replaced."""
    stopped_s: float = 0.0
    """Time in s for which the program was stopped by SIGSTOP."""


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
    """Resume a paused instance, run the cell once in it, and pause it again."""
    started = steady.unix_ns()
    line = command_line(kind, command, host=instance.spec.host)
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
            own = as_waited_for(own, command, ran.done.duration_s)
            each = energy.per_unit(own, ran.observed)
            each += cost.per_unit(own, ran.observed, ran.done.duration_s)
            samples = (*own, elapsed, *ran.observed, *each)
            own_series = (figure for figure in figures if isinstance(figure, Series))
            if not instance.accounting.own_kernel:  # whose clock may be slow where it is emulated
                own_series = (placed(one, ran.done) for one in own_series)
            series = (*own_series, *ran.series)
            doubts = tuple(figure for figure in figures if isinstance(figure, Warning))
    if failure is not None:
        failure = told_apart(failure, ran.done, ran.observed)
    warnings = (*doubts, *ran.warnings, *of_user_kernel(instance.spec))
    warnings += (IS_EMULATED,) if instance.emulated else ()
    if ran.done is not None:
        warnings += load_warning(ran.observed, ran.done.duration_s)
    record = blank(cell, turn, started, line)
    return Repetition(
        msgspec.structs.replace(
            record,
            began=_began(ran.done),
            samples=samples,
            series=series,
            warnings=warnings,
            failure=failure,
        ),
        lost=ran.lost,
        stopped_s=max((o.stopped_s for o in (ran.done, *ran.done.others)), default=0.0)
        if ran.done is not None
        else 0.0,
    )


def _began(done: Completed | None) -> Stamp | None:
    return None if done is None else Stamp(done.started_unix_ns, done.started_bound_ns)


def as_waited_for(
    figures: Sequence[Sample], command: Command, elapsed_s: float
) -> tuple[Sample, ...]:
    """Figures as a waiting user sees them: including start-up if wanted, and with impatience.

    `blocked_percent` is 100 if `duration_s` is longer than the user's patience, else 0: its mean
    over repetitions is the percentage of blocked clients (PcBl of Dutra 2015, chapter 5).
    """
    found = with_start(figures, elapsed_s) if command.counts_start else tuple(figures)
    if command.patience_s is None:
        return found
    waited_s = max(figure.value for figure in found if figure.metric == "duration_s")
    blocked = 100.0 if waited_s > command.patience_s else 0.0
    return (*found, Sample("blocked_percent", blocked, "%"))


def with_start(figures: Sequence[Sample], elapsed_s: float) -> tuple[Sample, ...]:
    """Replace `duration_s` by the time since the request, less `aside_s` that is not measured."""
    aside_s = sum(figure.value for figure in figures if figure.metric == ASIDE)
    return tuple(
        msgspec.structs.replace(figure, value=max(0.0, elapsed_s - aside_s))
        if figure.metric == "duration_s"
        else figure
        for figure in figures
    )


def blank(cell: Cell, turn: Round, started_unix_ns: int, line: tuple[str, ...] = ()) -> Record:
    """Record of a cell without any measurement yet."""
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


def command_line(kind: Kind, command: Command, *, host: str = "") -> tuple[str, ...]:
    """Command of a cell in its environment.

    On the host a program runs at its own path, elsewhere at its copy in `PROGRAM_FOLDER`. Instances
    that consist of several nodes start MPI programs by their own mpirun.
    """
    if kind.on_host and not host:
        return (str(command.program), *command.arguments)
    launched = command.launched if has_launcher(kind, host) else None
    paths = (launched or command.program, *command.files)
    put = {str(path): str(PROGRAM_FOLDER / path.name) for path in paths}
    first = command.program.name if launched else put[str(command.program)]
    return (first, *(put.get(word, word) for word in command.arguments))


def has_launcher(kind: Kind, host: str) -> bool:
    """True if MPI programs are started by an mpirun of the environment, not by a copied one."""
    return bool(kind.mpi) or "," in host or (kind.on_host and bool(host))


def read(program: Program[Any], done: Completed) -> Figures | Failure:
    """Figures of a program that succeeded in all tenants, or the failure of the first that did not.

    A program that finds its own result wrong reports so on its output before it exits with 1.
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
    except MissingError as error:
        return failure_of(MISSING, error)
    except ProgramError as error:
        if done.exit_code == 0:
            return failure_of("program", error)
    if done.exit_code == 0:
        return samples
    told = complaint(done.stdout)
    return told or Failure("program", f"`{done.command[0]}` {explain_exit(done)}")


def load_warning(observed: Sequence[Sample], duration_s: float) -> tuple[Warning, ...]:
    """Warn if other processes or guests used more than 0.1 CPU and 50 ms during the run."""
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
