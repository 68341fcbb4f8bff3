"""Runs our NPB kernels, and compares them with the public C++ port if its binaries are available.

The peer is GMAP/NPB-CPP, built with its own flags; `--peer npb-cpp=FOLDER` names the folder with
`ep.S`, `cg.A` and so on. Our program and the peer's alternate, so that noise of the machine affects
both alike, and each round gives one ratio of operations per second. Without a peer, ours runs the
largest number of rounds that a comparison would have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import msgspec
from msgspec.structs import replace

from aferir.errors import AferirError, TimeoutExpired, UsageError
from aferir.linux import process
from aferir.model.bench import BenchResult, Figure
from aferir.model.plan import Parameter
from aferir.programs.base import read_parameters
from aferir.programs.npb.reference import NPB_REFERENCE, read_reference
from aferir.programs.npb.threads import KERNELS, NPB
from aferir.selftest.effort import Effort
from aferir.selftest.npb_mpi import mpi_cases, mpi_figures
from aferir.selftest.options import BenchOptions, Note
from aferir.statistics.intervals import median_interval
from aferir.statistics.ratio import Ratio, paired_ratio

HELP = "NPB kernels: verified, Mop/s, ratio to NPB-CPP; messages against threads"
PEERS = ("npb-cpp",)

SELECTABLE = True
THREADS = (1, 2, 4)
_QUICK_THREADS = (1, 2)
_LONG_KERNELS = ("bt", "sp", "lu")
_ROUNDS = {"S": 15, "W": 9, "A": 5}
_QUICK_ROUNDS = {"S": 7, "W": 3, "A": 1}
_QUICK_LONG_ROUNDS = {"S": 7, "W": 1, "A": 0}
_TIME_LIMIT_S = 600.0
_PATIENCE = 30.0
"""Multiple of our duration after which the peer is ended: if its threads spin while they wait for
each other, and outnumber the processors, it may not end within an hour.
"""
_LEAST_PATIENCE_S = 60.0
_LEAST_ROUNDS = 3
_GEOMETRIC_MEAN_TARGET = 1.5


class Case(msgspec.Struct, frozen=True):
    """One case of the bench: a kernel, a class, and a number of threads."""

    kernel: str
    problem_class: str
    threads: int

    @property
    def name(self) -> str:
        """Name of the case, for example `cg.A.2`."""
        return f"{self.kernel}.{self.problem_class}.{self.threads}"

    def is_selected(self, only: Sequence[str]) -> bool:
        """True if `only` is empty, or has a name that this name begins with, word by word."""
        return not only or any(f"{self.name}.".startswith(f"{one}.") for one in only)


class Timing(msgspec.Struct, frozen=True):
    """Figures of one verified run of a kernel."""

    duration_s: float
    mops: float


class Measured(msgspec.Struct, frozen=True):
    """Runs of one case by our program and by the peer.

    The peer is not run again once it has exceeded its time limit, so `theirs` may be shorter than
    `ours`.
    """

    ours: tuple[Timing, ...] = ()
    theirs: tuple[Timing, ...] = ()
    given_up_s: float = 0.0
    """Time limit in s at which the peer was ended; 0: never."""
    problem: str = ""

    @property
    def ratio(self) -> Ratio | None:
        """Ratio of operations per second, ours over the peer's."""
        if not self.theirs:
            return None
        beside = self.ours[: len(self.theirs)]
        return paired_ratio([o.mops for o in beside], [t.mops for t in self.theirs])


def run(options: BenchOptions, note: Note) -> BenchResult:
    """Run every case in interleaved rounds."""
    peer = options.peers.get("npb-cpp")
    cases, by_messages = _cases(options), mpi_cases(options)
    if not cases and not by_messages:
        raise UsageError(
            f"--only {' '.join(options.only)}: there is no such case",
            remedy="name a kernel, class and number of threads, or the first of these: bt.A.1, bt; "
            "of those by message passing, mpi.cg.A.2",
        )
    if cases and peer is not None and not any(_program(case, peer).is_file() for case in cases):
        raise UsageError(
            f"--peer npb-cpp={peer}: there is no program `{_program(cases[0], peer).name}` there",
            remedy="build NPB-CPP's NPB-OMP for classes S, W and A and name its `bin` folder",
        )
    figures: list[Figure] = []
    ratios: list[Ratio] = []
    for done, case in enumerate(cases):
        note(case.name, done / len(cases))
        measured = _measure(
            case, _rounds(case, quick=options.quick), _beside(case, peer, quick=options.quick)
        )
        figures.extend(_figures(case, measured))
        if measured.ratio is not None:
            ratios.append(measured.ratio)
    if ratios:
        figures.append(_geometric_mean(ratios))
    figures.extend(mpi_figures(by_messages, options, note))
    return BenchResult(bench="npb", quick=options.quick, figures=tuple(figures))


def _cases(options: BenchOptions) -> list[Case]:
    threads = _QUICK_THREADS if options.quick else THREADS
    cases = [Case(k, c, t) for c in _ROUNDS for k in KERNELS for t in threads]
    return [
        case
        for case in cases
        if case.is_selected(options.only) and _rounds(case, quick=options.quick)
    ]


def _rounds(case: Case, *, quick: bool) -> int:
    if not quick:
        return _ROUNDS[case.problem_class]
    # Class A of the pseudo-applications alone would take a minute.
    return (_QUICK_LONG_ROUNDS if case.kernel in _LONG_KERNELS else _QUICK_ROUNDS)[
        case.problem_class
    ]


def _beside(case: Case, peer: Path | None, *, quick: bool) -> Path | None:
    # One round of class A would take the peer half a minute.
    if peer is None or (quick and case.problem_class == "A"):
        return None
    return peer if _program(case, peer).is_file() else None


def _program(case: Case, peer: Path) -> Path:
    return peer / f"{case.kernel}.{case.problem_class}"


def _measure(case: Case, rounds: int, peer: Path | None) -> Measured:
    effort = Effort(
        least=min(rounds, _LEAST_ROUNDS), most=rounds, seconds=math.inf, target=1.0, width=0.0
    )
    done = Measured()
    try:
        while not effort.is_enough(len(done.ours), 0.0, done.ratio):
            # The second run finds a warmer machine, so the order alternates. Ours
            # begins: it says how long to wait for the peer.
            for mine in (False, True) if len(done.ours) % 2 else (True, False):
                if mine:
                    done = replace(done, ours=(*done.ours, run_ours(case)))
                elif peer is not None and not done.given_up_s:
                    done = _beside_ours(case, peer, done)
    except AferirError as error:
        return Measured(problem=error.message)
    return done


def _beside_ours(case: Case, peer: Path, done: Measured) -> Measured:
    limit_s = max(_LEAST_PATIENCE_S, _PATIENCE * max(one.duration_s for one in done.ours))
    try:
        return replace(done, theirs=(*done.theirs, run_peer(case, peer, limit_s)))
    except TimeoutExpired:
        return replace(done, given_up_s=limit_s)


def run_ours(case: Case, isa: str | None = None) -> Timing:
    """Run our program; `isa` None takes the best level. Errors: those of the program."""
    given: dict[str, Parameter] = {
        "kernel": case.kernel,
        "class": case.problem_class,
        "threads": case.threads,
    }
    command = NPB.command(read_parameters(NPB, given if isa is None else {**given, "isa": isa}))
    done = process.run(
        [str(command.program), *command.arguments],
        environment=command.environment,
        timeout_s=_TIME_LIMIT_S,
        check=False,
    )
    samples = {sample.metric: sample.value for sample in NPB.parse(done.stdout)}
    return Timing(samples["duration_s"], samples["throughput_mops"])


def run_peer(case: Case, folder: Path, limit_s: float) -> Timing:
    """Run `cg.A` or `cg.A.x` of a folder.

    Errors: MissingError, TimeoutExpired after `limit_s`, and those of the program.
    """
    given: dict[str, Parameter] = {
        "npb_home": str(folder.resolve()),
        "kernel": case.kernel,
        "class": case.problem_class,
        "threads": case.threads,
    }
    command = NPB_REFERENCE.command(read_parameters(NPB_REFERENCE, given))
    done = process.run([str(command.program)], environment=command.environment, timeout_s=limit_s)
    found = read_reference(done.stdout)
    return Timing(found.duration_s, found.mops)


def _figures(case: Case, measured: Measured) -> list[Figure]:
    ours, theirs, ratio = measured.ours, measured.theirs, measured.ratio
    verified = Figure(
        name=f"{case.name}.verified",
        value=float(bool(ours)),
        unit="boolean",
        n=len(ours),
        target="== 1",
        holds=bool(ours),
        note=measured.problem,
    )
    if not ours:
        return [verified]
    mops, durations = [o.mops for o in ours], [o.duration_s for o in ours]
    compared = ratio is not None or measured.given_up_s > 0
    throughput = Figure(
        name=f"{case.name}.throughput",
        value=median(mops),
        unit="Mop/s",
        n=len(ours),
        interval=interval_of(mops),
        peer="npb-cpp" if compared else "",
        peer_value=median([t.mops for t in theirs]) if theirs else None,
        ratio=ratio.estimate if ratio else None,
        target="ratio >= 1" if compared else "",
        holds=(ratio is None or _not_slower(ratio)) if compared else None,
        note=_given_up(measured) or _spread(ratio),
    )
    duration = Figure(
        name=f"{case.name}.duration",
        value=median(durations),
        unit="s",
        n=len(ours),
        interval=interval_of(durations),
    )
    return [throughput, duration, verified]


def _geometric_mean(ratios: list[Ratio]) -> Figure:
    """Geometric mean of all cases' ratios; their errors are assumed to be independent."""
    logs = [math.log(r.estimate) for r in ratios if r.estimate]
    error = math.sqrt(sum((r.log_error or 0.0) ** 2 for r in ratios)) / len(logs)
    centre = sum(logs) / len(logs)
    value = math.exp(centre)
    return Figure(
        name="geometric_mean_ratio",
        value=value,
        unit="ratio",
        n=len(logs),
        interval=(math.exp(centre - 1.96 * error), math.exp(centre + 1.96 * error)),
        target=f">= {_GEOMETRIC_MEAN_TARGET}",
        holds=value >= _GEOMETRIC_MEAN_TARGET,
        peer="npb-cpp",
        note="n counts cases of kernel, class and threads",
    )


def _not_slower(ratio: Ratio) -> bool:
    return ratio.estimate is not None and ratio.estimate >= 1.0


def _given_up(measured: Measured) -> str:
    if not measured.given_up_s:
        return ""
    times = measured.given_up_s / max(one.duration_s for one in measured.ours)
    return f"npb-cpp was ended after {measured.given_up_s:.3g} s, {times:.3g} times our longest run"


def _spread(ratio: Ratio | None) -> str:
    if ratio is None or ratio.interval is None:
        return ""
    return f"ratio's 95 % interval [{ratio.interval.low:.3g}, {ratio.interval.high:.3g}]"


def interval_of(values: Sequence[float]) -> tuple[float, float] | None:
    """95 % interval of the median; None for fewer than six values."""
    found = median_interval(values)
    return None if found is None else (found.low, found.high)
