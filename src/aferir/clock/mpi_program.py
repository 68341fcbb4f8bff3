"""Compares MPI_Wtime among ranks: MPI's own, and one set by RGAP.

Three jobs run the same program one after another: with the MPI's own clock, with the library
preloaded (ranks of a host share a clock), and with the library where each rank acts as a separate
host, so that all are synchronised by MPI messages. All ranks are on this host and read the same
counter, so the true difference between their clocks is known. Over several hosts it is not: there
the first two jobs run, and give the order of messages, and bounds from round trips.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Annotated, TypeVar

import msgspec

from aferir.errors import ProgramError, UnverifiedError
from aferir.model.finding import Finding
from aferir.model.parameters import told, whole
from aferir.model.record import Sample, Series
from aferir.programs.base import Command, Program
from aferir.programs.declared import Processes, WhichMpi
from aferir.programs.mpi import (
    RANK,
    Launcher,
    Rule,
    check_mpi,
    find_launcher,
    host_options,
    launch,
)

PROGRAM = "mpi-clock"
_NATIVE = "aferir-mpi-clock"
ARMS = ("own", "rgap", "rgap-hosts")
OVER_HOSTS = ARMS[:2]
_REPORT = "aferir-mpi: "
_RANK_BYTES = 64 * 2**20
_EACH_A_HOST = ("/bin/sh", "-c", 'AFERIR_MPI_JOB=$$ exec "$0" "$@"')
"""Wrapper that gives each rank its own job name, by which ranks of one host find each other."""


_PLACES = """
echo "hosts $AFERIR_HOSTS"
set -- $AFERIR_HOSTS
each=$((({processes} + $# - 1) / $#)) places= first=${{AFERIR_ADDRESSES%% *}}
for host; do places="$places${{places:+,}}$host:$each"; done
"""
"""Shell commands that name the hosts, and set the launcher's places: equally many ranks on each."""

_Kind = TypeVar("_Kind")


class _Order(msgspec.Struct, frozen=True):
    """Numbers of messages, of time stamps in them, and of messages with stamps out of order."""

    messages: int
    stamps: int
    violations: int
    best_trip_s: float = 0.0
    """Shortest time in s of a message and its answer."""


class _Figures(msgspec.Struct, frozen=True):
    """Figures that the program prints."""

    program: str
    init_s: float
    offsets_s: list[float]
    orders: list[_Order]
    verified: bool
    error: str = ""


class _Report(msgspec.Struct, frozen=True):
    """Report of the preloaded library about one rank."""

    rank: int
    added_ns: int = -1
    sync_ns: int = 0
    exchanges: int = 0
    doubt_ns: int = 0
    """Bound of the error of its clock when it was set: half of a round trip for each step."""


class _Job(msgspec.Struct, frozen=True):
    """Output of one of the three jobs."""

    figures: _Figures
    reports: list[_Report]

    @property
    def error_s(self) -> float:
        """Largest difference in s between the clocks of any two ranks."""
        return max(self.figures.offsets_s) - min(self.figures.offsets_s)


class MpiClockParameters(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters that the three jobs share."""

    processes: Processes = 2
    mpi: WhichMpi | None = None
    rule: Annotated[
        Rule,
        told("when hosts stop to exchange messages; `published`: as in Dutra 2015, up to 10,000"),
    ] = "short"
    stamps: Annotated[int, whole("time stamps in 481 messages, and again in 30", 1, 10_000_000)] = (
        100_000
    )


class MpiClock(Program[MpiClockParameters]):
    """Program that runs three jobs one after another."""

    name = PROGRAM
    parameters = MpiClockParameters
    kinds = ("native",)

    def memory_bytes(self, parameters: MpiClockParameters) -> int:
        """Memory in bytes of MPI in the ranks, which dominates."""
        return _RANK_BYTES * parameters.processes

    def check(self) -> list[Finding]:
        """Findings on whether there is an MPI, and our program built for it."""
        return check_mpi(PROGRAM, (_NATIVE,))

    def command(self, parameters: MpiClockParameters) -> Command:
        """Shell command that runs the three jobs. Errors: MissingError."""
        jobs = {arm: _launched(parameters, arm) for arm in ARMS}
        launcher = find_launcher(parameters.mpi)
        over_hosts = [_PLACES.format(processes=parameters.processes)]
        files: dict[Path, None] = {}
        for arm in OVER_HOSTS:
            job = jobs[arm].there or jobs[arm]
            over_hosts.append(f"echo; echo arm {arm}; {_over_hosts(job, launcher)}")
            files |= dict.fromkeys((*job.files, *filter(None, [job.launched])))
        there = Command(Path("/bin/sh"), ("-ec", "\n".join(over_hosts)), files=tuple(files))
        lines = [f"echo; echo arm {arm}; {_in_shell(job)}" for arm, job in jobs.items()]
        return Command(Path("/bin/sh"), ("-ec", "\n".join(lines)), there=there)

    def parse(self, stdout: str) -> Sequence[Sample | Series]:
        """Figures of the jobs; `duration_s` is the time of MPI_Init with our library."""
        jobs = {arm: _read_job(arm, text) for arm, text in _by_arm(stdout).items()}
        over_hosts = stdout.lstrip().startswith("hosts ")
        arms = OVER_HOSTS if over_hosts else ARMS
        if set(jobs) != set(arms):
            raise ProgramError(f"of the jobs {', '.join(arms)} only {', '.join(jobs)} ended")
        return (*(_samples_over_hosts if over_hosts else _samples)(jobs), *_series(jobs))


def _launched(parameters: MpiClockParameters, arm: str) -> Command:
    return launch(
        _NATIVE,
        (str(parameters.stamps),),
        processes=parameters.processes,
        mpi=parameters.mpi,
        preload=arm != "own",
        report=arm != "own",
        rule=parameters.rule,
        wrapper=_EACH_A_HOST if arm == "rgap-hosts" else (),
    )


def _samples_over_hosts(jobs: Mapping[str, _Job]) -> list[Sample]:
    """What is known of clocks whose true difference is not."""
    own, hosts = (jobs[arm] for arm in OVER_HOSTS)
    return [
        Sample("duration_s", hosts.figures.init_s, "s"),
        Sample("own_init_s", own.figures.init_s, "s"),
        Sample("hosts_added_to_init_s", _added_s(hosts), "s"),
        Sample("error_bound_s", max(report.doubt_ns for report in hosts.reports) * 1e-9, "s"),
        Sample("best_trip_s", min(one.best_trip_s for one in hosts.figures.orders), "s"),
        *_set_by_messages(hosts),
        *_orders(jobs),
    ]


def _set_by_messages(job: _Job) -> list[Sample]:
    set_ranks = [report for report in job.reports if report.exchanges > 0]
    return [
        Sample("exchanges", median([r.exchanges for r in set_ranks] or [0]), "1"),
        Sample("sync_s", median([r.sync_ns * 1e-9 for r in set_ranks] or [0]), "s"),
    ]


def _orders(jobs: Mapping[str, _Job]) -> list[Sample]:
    return [
        Sample(f"{arm.replace('-', '_')}_out_of_order", _out_of_order(job), "1")
        for arm, job in jobs.items()
    ]


def _samples(jobs: Mapping[str, _Job]) -> list[Sample]:
    own, shared, hosts = (jobs[arm] for arm in ARMS)
    return [
        Sample("duration_s", shared.figures.init_s, "s"),
        Sample("own_init_s", own.figures.init_s, "s"),
        Sample("added_to_init_s", _added_s(shared), "s"),
        Sample("hosts_added_to_init_s", _added_s(hosts), "s"),
        Sample("error_s", shared.error_s, "s"),
        Sample("own_error_s", own.error_s, "s"),
        Sample("hosts_error_s", hosts.error_s, "s"),
        *_set_by_messages(hosts),
        *_orders({arm: jobs[arm] for arm in ARMS}),
    ]


def _series(jobs: Mapping[str, _Job]) -> list[Series]:
    """One series for each figure and job, over the number of processes."""

    def along(metric: str, unit: str, arm: str, value: float) -> Series:
        processes = float(len(jobs[arm].figures.offsets_s))
        return Series(
            metric=metric,
            unit=unit,
            values=(value,),
            along="processes",
            at=(processes,),
            label=arm,
        )

    several = tuple(jobs) if len(jobs[ARMS[0]].figures.offsets_s) > 1 else ()
    known = () if tuple(jobs) == OVER_HOSTS else several
    return [
        *(along("clock_error_s", "s", arm, jobs[arm].error_s) for arm in known),
        *(along("out_of_order", "1", arm, _out_of_order(jobs[arm])) for arm in several),
        *(along("init_s", "s", arm, jobs[arm].figures.init_s) for arm in jobs),
        *(along("added_s", "s", arm, _added_s(jobs[arm])) for arm in jobs if arm != "own"),
    ]


def _added_s(job: _Job) -> float:
    return max(report.added_ns for report in job.reports) * 1e-9


def _out_of_order(job: _Job) -> float:
    """Share of messages with a time stamp outside the interval in which it was taken."""
    messages = sum(order.messages for order in job.figures.orders)
    return sum(order.violations for order in job.figures.orders) / messages


def _by_arm(stdout: str) -> dict[str, str]:
    """Output of each job, by arm."""
    parts: dict[str, list[str]] = {}
    current: list[str] = []
    for line in stdout.splitlines():
        if line.startswith("arm ") and line[4:] in ARMS:
            current = parts.setdefault(line[4:], [])
        current.append(line)
    return {arm: "\n".join(lines) for arm, lines in parts.items()}


def _read_job(arm: str, text: str) -> _Job:
    """Parse the output of one job. Errors: ProgramError, UnverifiedError."""
    reports = [_decode(line[len(_REPORT) :], _Report) for line in _starting(text, _REPORT)]
    reports = [report for report in reports if report.added_ns >= 0]
    lines = _starting(text, '{"program"')
    if not lines:
        raise ProgramError(f"the job `{arm}` printed no result: {text[-200:]!r}")
    figures = _decode(lines[-1], _Figures)
    if not figures.verified:
        raise UnverifiedError(f"{figures.program} did not verify: {figures.error}")
    numbers = (figures.init_s, *figures.offsets_s)
    if figures.program != _NATIVE or not all(map(math.isfinite, numbers)) or figures.init_s <= 0:
        raise ProgramError(f"the job `{arm}` printed {lines[-1][:200]!r}")
    if not figures.offsets_s or not any(order.messages > 0 for order in figures.orders):
        raise ProgramError(f"the job `{arm}` compared no clocks")
    if (arm == "own") != (not reports):
        raise ProgramError(f"the job `{arm}` was run with the clock of another")
    return _Job(figures, reports)


def _starting(text: str, start: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(start)]


def _decode(line: str, kind: type[_Kind]) -> _Kind:
    try:
        return msgspec.json.decode(line, type=kind)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise ProgramError(f"{line[:200]!r} is unreadable: {error}") from None


def _in_shell(job: Command) -> str:
    """Command of the job in a shell; the library's reports are merged into the output."""
    return shlex.join([str(job.program), *job.arguments]) + " 2>&1"


def _over_hosts(job: Command, launcher: Launcher) -> str:
    """Command of the job in a shell of the first host, with ranks on all hosts."""
    at = job.arguments.index(str(job.launched))
    options = " ".join(host_options(launcher.mpi, '"$places"', '"$AFERIR_ENTER"', '"$first"'))
    line = [job.program.name, options, shlex.join(job.arguments[:at]), "sh -c", shlex.quote(RANK)]
    name = Path(job.arguments[at]).name
    return " ".join([*line, shlex.join([name, *job.arguments[at + 1 :]]), "2>&1"])


MPI_CLOCK = MpiClock()
