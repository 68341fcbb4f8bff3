"""Run NPB's kernels in columns: ours at each instruction-set level, and each peer, in turns.

A peer is a folder of programs that were built elsewhere, `ep.S` or `ep.S.x` and so on: the C++ port
GMAP/NPB-CPP as shipped and with `-march=native`, and NPB 3.4 in Fortran. In every round each
contender runs once, and the round that follows begins with the next one, so that noise of the
machine and the order affect all alike. Ratios are those of the rounds. Last, executed operations
are counted, and kernels are broken on purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median

from aferir.errors import AferirError, UsageError
from aferir.model.bench import BenchResult, Figure
from aferir.programs.npb.threads import KERNELS
from aferir.selftest.npb import Case, interval_of, run_ours, run_peer
from aferir.selftest.options import BenchOptions, Note
from aferir.statistics.ratio import paired_ratio
from benchmarks.kernels import broken, operations
from benchmarks.kernels.broken import FAULTS
from benchmarks.kernels.operations import COUNTED

HELP = "NPB at x86-64-v2, v3, v4 beside NPB-CPP, NPB-CPP with -march=native, NPB 3.4 Fortran"
PEERS = ("npb-cpp", "npb-cpp-native", "npb-fortran")
SELECTABLE = True

_LEVELS = ("base", "v2", "v3", "v4")
_THREADS = (1, 2)
_ROUNDS = {"S": 9, "W": 6, "A": 3}
_QUICK_ROUNDS = {"S": 6}
_PEER_LIMIT_S = 600.0
_TARGETS: Mapping[str, Mapping[str, float]] = {
    "npb-cpp": {"first": 1.5},
    "npb-cpp-native": {"best": 2.0},
    "npb-fortran": {"first": 1.0, "best": 1.0},
}
"""Least ratios over each peer of our lowest and of our best instruction-set level."""

Rates = Mapping[str, Sequence[float]]
"""Operations per second in Mop/s by contender, one for each round."""


def run(options: BenchOptions, note: Note) -> BenchResult:
    """Run every case. Errors: UsageError if `--only` selects none."""
    rounds = _QUICK_ROUNDS if options.quick else _ROUNDS
    every = [Case(k, c, t) for c in rounds for k in KERNELS for t in _THREADS]
    cases = [case for case in every if case.is_selected(options.only)]
    apart = [] if options.quick else _apart(options.only)
    if not cases and not apart:
        raise UsageError(
            f"--only {' '.join(options.only)}: there is no such case",
            remedy="name a kernel, class and number of threads, or the first of these: cg.A.2",
        )
    levels = _levels() if cases else ()
    figures: list[Figure] = []
    for done, case in enumerate(cases):
        note(case.name, done / len(cases))
        figures += _case(case, rounds[case.problem_class], levels, options.peers)
    for done, (name, measure) in enumerate(apart):
        note(name, done / len(apart))
        figures.append(measure())
    return BenchResult(bench="kernels", quick=options.quick, figures=tuple(figures))


def _apart(only: Sequence[str]) -> list[tuple[str, Callable[[], Figure]]]:
    """Measurements for one kernel at a time, by name: counted operations, and planted faults."""
    every = [
        *((f"operations.{kernel}", partial(operations.figure, kernel)) for kernel in COUNTED),
        *((f"broken.{kernel}", partial(broken.figure, kernel)) for kernel in FAULTS),
    ]
    return [
        (name, measure)
        for name, measure in every
        if not only or any(f"{name}.".startswith(f"{one}.") for one in only)
    ]


def _levels() -> tuple[str, ...]:
    """Instruction-set levels of this processor, the lowest first."""
    found = []
    for isa in _LEVELS:
        try:
            run_ours(Case("is", "S", 1), isa)
        except AferirError:
            continue
        found.append(isa)
    return tuple(found)


def _case(
    case: Case, rounds: int, levels: tuple[str, ...], peers: Mapping[str, Path]
) -> list[Figure]:
    rates: dict[str, list[float]] = {name: [] for name in (*levels, *peers)}
    problems: dict[str, str] = {}
    for k in range(rounds):
        names = [name for name in rates if name not in problems]
        first = k % max(len(names), 1)
        for name in names[first:] + names[:first]:
            try:
                rates[name].append(_rate(case, name, peers))
            except AferirError as error:
                problems[name] = error.message
    return [
        *(_throughput(case, name, found, problems.get(name, "")) for name, found in rates.items()),
        *ratios(case.name, {name: rates[name] for name in rates if name not in problems}, levels),
    ]


def _rate(case: Case, name: str, peers: Mapping[str, Path]) -> float:
    if name in peers:
        return run_peer(case, peers[name], _PEER_LIMIT_S).mops
    return run_ours(case, name).mops


def _throughput(case: Case, name: str, rates: Sequence[float], problem: str) -> Figure:
    return Figure(
        name=f"{case.name}.{name}",
        value=median(rates) if rates else None,
        unit="Mop/s",
        n=len(rates),
        interval=interval_of(rates),
        holds=False if problem and name not in PEERS else None,
        note=problem,
    )


def ratios(case: str, rates: Rates, levels: Sequence[str]) -> list[Figure]:
    """Ratio of each of our levels over each peer, for those that ran in all rounds."""
    ours = [level for level in levels if level in rates]
    return [
        _ratio(case, (level, peer), rates, _target(level, peer, levels))
        for peer in PEERS
        if peer in rates
        for level in ours
    ]


def _target(level: str, peer: str, levels: Sequence[str]) -> float | None:
    places = {"first": levels[0], "best": levels[-1]}
    bounds = [bound for place, bound in _TARGETS[peer].items() if places[place] == level]
    return max(bounds, default=None)


def _ratio(case: str, pair: tuple[str, str], rates: Rates, target: float | None) -> Figure:
    level, peer = pair
    ratio = paired_ratio(rates[level], rates[peer])
    found = ratio.interval
    return Figure(
        name=f"{case}.{level}_over_{peer}",
        value=ratio.estimate,
        unit="ratio",
        n=ratio.n,
        interval=None if found is None else (found.low, found.high),
        target="" if target is None else f">= {target}",
        holds=None if target is None else ratio.estimate is not None and ratio.estimate >= target,
        peer=peer,
        peer_value=median(rates[peer]),
    )
