"""Measure what a clock reading costs, whether it ever decreases, and how exact one look is.

A native program measures. This module calls it in pieces, so that progress can be shown, and judges
what it prints. Ratios are measured side by side: contenders alternate every thousand reads.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from aferir.clock.bench_program import PROGRAM, Bound, Ecp, Line, Sync, measure, of
from aferir.errors import AferirError
from aferir.linux.namespace import Pair, veth_pair
from aferir.linux.undo import MARK
from aferir.model.bench import BenchResult, Figure
from aferir.programs.kernels import kernel_path
from aferir.selftest.options import BenchOptions, Note
from benchmarks.clock import judge
from benchmarks.clock.mpi import measure_mpi
from benchmarks.clock.mpi_kills import measure_kills
from benchmarks.clock.peers import PEERS, measure_peers
from benchmarks.parts import Part, run_parts

HELP = (
    "clocks: read cost, ECP violations, synchronisation, bounds, MPI_Wtime, killed MPI jobs, "
    "simulated cluster"
)
SELECTABLE = True

__all__ = ["HELP", "PEERS", "run"]

_COST_RUNS, _QUICK_COST_RUNS = 11, 6
_COST_ROUNDS = 1500
_READS, _QUICK_READS = 10_000_000_000, 100_000_000
_READS_A_PIECE = 1_000_000_000
_REFINED_READS, _QUICK_REFINED_READS = 1_000_000_000, 10_000_000
_SYNCS = 200
_WATCH_S, _QUICK_WATCH_S = 600, 10
_NODES = 1_000_000
_SIMULATIONS, _QUICK_SIMULATIONS = 3, 1
_TIME_LIMIT_S = 900.0


def run(options: BenchOptions, note: Note) -> BenchResult:
    """Run all parts, or those that `--only` names. Errors: UsageError if there is none."""
    return run_parts("clock", PARTS, options, note)


def _costs(options: BenchOptions, note: Note) -> list[Figure]:
    program = kernel_path(PROGRAM)
    runs = _QUICK_COST_RUNS if options.quick else _COST_RUNS
    found = []
    for k in range(runs):
        note("read costs", k / runs)
        rounds = ["--rounds", str(_COST_ROUNDS)]
        found.append(measure(program, "costs", rounds, timeout_s=_TIME_LIMIT_S))
    return judge.costs(found)


def _ecp(options: BenchOptions, note: Note) -> list[Figure]:
    reads = _QUICK_READS if options.quick else _READS
    lines: list[Line] = []
    for done in range(0, reads, _READS_A_PIECE):
        note("strictly increasing?", done / reads)
        piece = ["--reads", str(min(_READS_A_PIECE, reads - done))]
        lines.extend(measure(kernel_path(PROGRAM), "ecp", piece, timeout_s=_TIME_LIMIT_S))
    return judge.ecp(of(lines, Ecp), ("migrations", "hand_overs"))


def _refinements(options: BenchOptions, note: Note) -> list[Figure]:
    note("strictly increasing while the rate is refined?", 0)
    reads = _QUICK_REFINED_READS if options.quick else _REFINED_READS
    words = ["--reads", str(reads)]
    lines = measure(kernel_path(PROGRAM), "refinements", words, timeout_s=_TIME_LIMIT_S)
    return judge.ecp(of(lines, Ecp), ("refinements",))


def _sync(options: BenchOptions, note: Note) -> list[Figure]:
    """Synchronise over a veth pair, and run the peers on the same pair."""
    note("one-shot synchronisation", 0)
    if os.geteuid() != 0:
        return judge.no_sync("network namespaces need root: run it as root")
    try:
        with veth_pair() as pair:
            found = _sync_over(pair, kernel_path(PROGRAM))
            peers = measure_peers(pair, options.peers, quick=options.quick, note=note)
    except AferirError as error:
        return judge.no_sync(error.message)
    return judge.sync(found, peers)


def _sync_over(pair: Pair, program: Path) -> Sync:
    ends = ["--server-netns", pair.server, "--client-netns", pair.client]
    lines = measure(
        program,
        "sync",
        [*ends, "--address", pair.server_address, "--syncs", str(_SYNCS)],
        timeout_s=_TIME_LIMIT_S,
        environment={MARK: pair.mark},
    )
    found = of(lines, Sync)
    return found[0] if found else Sync(0, _SYNCS, 0, 0)


def _bound(options: BenchOptions, note: Note) -> list[Figure]:
    seconds = _QUICK_WATCH_S if options.quick else _WATCH_S
    note(f"clocks against their bounds, {seconds} s", 0)
    watch = ["--seconds", str(seconds)]
    limit_s = _TIME_LIMIT_S + seconds
    lines = measure(kernel_path(PROGRAM), "bound", watch, timeout_s=limit_s)
    return judge.bound(of(lines, Bound), seconds)


def _simulation(options: BenchOptions, note: Note) -> list[Figure]:
    import numpy as np  # noqa: PLC0415 - `aferir --help` and other benches do without

    from aferir.clock.simulate import Settings, simulate  # noqa: PLC0415

    times = []
    runs = _QUICK_SIMULATIONS if options.quick else _SIMULATIONS
    for k in range(runs):
        note("a million simulated nodes", k / runs)
        started = time.perf_counter()
        simulate(Settings(nodes=_NODES), np.random.default_rng(options.seed))
        times.append(time.perf_counter() - started)
    figure = Figure(
        name="simulate.million_nodes",
        value=median(times),
        unit="s",
        n=len(times),
        target=f"< {judge.SIMULATION_S:g}",
        holds=median(times) < judge.SIMULATION_S,
        note="a tree that doubles, two looks a node",
    )
    return [figure]


PARTS: Mapping[str, Part] = {
    "read": _costs,
    "ecp": _ecp,
    "refinements": _refinements,
    "sync": _sync,
    "bound": _bound,
    "simulate": _simulation,
    "mpi": measure_mpi,
    "mpi_killed": measure_kills,
}
