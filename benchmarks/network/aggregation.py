"""Measure the throughput of each method that uses several links as one, and that nothing is left.

Everything runs in namespaces, with the methods interleaved; bonding has a guest of its own, see
`bonding`.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median

from aferir import registry
from aferir.aggregation.measure import measure
from aferir.aggregation.places import place
from aferir.aggregation.traffic import PROGRAM, Task
from aferir.errors import AferirError, MissingError
from aferir.linux import journal, process
from aferir.machine import packages
from aferir.model.bench import Figure
from aferir.model.network import (
    Method,
    Mptcp,
    Multipath,
    MultiRail,
    Network,
    Single,
    Traffic,
)
from aferir.programs.kernels import kernel_path
from aferir.selftest.leftovers import leftovers, own_state
from aferir.selftest.options import BenchOptions, Note
from benchmarks.network.bonding import bonding
from benchmarks.network.cut import cut

MPTCP_LINKS = 3.6
"""Throughput, in links, that MPTCP has to reach over 4 links with one unmodified connection."""
MULTIPATH_LINKS = 3.2
"""The target of 16 connections over routes is lower: a hash distributes connections, not bytes."""
_RATE = 100_000_000
_RUNS, _QUICK_RUNS = 5, 3
_RAILS: tuple[tuple[int, Method], ...] = ((1, Single()), (4, MultiRail()))
_KILLS, _QUICK_KILLS = 6, 2
_MEASURING = """
import sys
from pathlib import Path
from aferir.aggregation.places import place
from aferir.aggregation.traffic import Task
from aferir.model.network import Mptcp, Network, Traffic
with place("namespaces", Path(sys.argv[1])) as found:
    print("made", flush=True)
    network = Network(links=4, rate_bits=100_000_000)
    found.measure(Task(network=network, method=Mptcp(), traffic=Traffic(seconds=60)))
"""


_Part = Callable[[BenchOptions, Note], list[Figure]]


def figures(options: BenchOptions, note: Note) -> list[Figure]:
    """Return all figures, with `quick` those of this kernel alone; an unmeasured one says why."""
    found: list[Figure] = []
    here: tuple[_Part, ...] = (_speed, _cut_here, _leftovers)
    long: tuple[_Part, ...] = () if options.quick else (_rails, bonding)
    for part in (*here, *long):
        found += _or_why(part, options, note)
    return found


def _or_why(part: _Part, options: BenchOptions, note: Note) -> list[Figure]:
    try:
        return part(options, note)
    except (AferirError, OSError) as error:  # one part's fault must not take the others' figures
        name = part.__name__.removeprefix("_")
        return [Figure(name=f"aggregation.{name}", value=None, unit="1", n=0, note=str(error))]


def _speed(options: BenchOptions, note: Note) -> list[Figure]:
    """Run iperf3, unmodified: one connection alone, one over MPTCP, and 16 over routes."""
    if absent := packages.missing(["iperf3", "mptcpize"]):
        said = f"{', '.join(absent)} missing: {packages.install_command(absent)}"
        return [Figure(name="aggregation.speed", value=None, unit="1", n=0, note=said)]
    runs, seconds = (_QUICK_RUNS, 2.0) if options.quick else (_RUNS, 4.0)
    arms: tuple[tuple[int, Method, int], ...] = (
        (1, Single(), 1),
        (4, Mptcp(), 1),
        (4, Multipath(), 16),
    )
    rates: list[list[float]] = [[], [], []]
    with place("namespaces", kernel_path(PROGRAM)) as here:
        for run in range(runs):
            for (links, method, connections), found in zip(arms, rates, strict=True):
                note("links of 100 Mbit/s", 0.2 * run / runs)
                task = Task(
                    network=Network(links=links, rate_bits=_RATE),
                    method=method,
                    traffic=Traffic(program="iperf3", connections=connections, seconds=seconds),
                )
                found.append(measure(here, task).throughput_bps)
    return [
        _times("mptcp", rates[1], rates[0], MPTCP_LINKS, "one connection of iperf3, mptcpize"),
        _times("multipath", rates[2], rates[0], MULTIPATH_LINKS, "16 connections of iperf3"),
    ]


def _rails(_: BenchOptions, note: Note) -> list[Figure]:
    """Measure Open MPI's own use of several links, one rank a host, beside one link."""
    rates: tuple[list[float], list[float]] = ([], [])
    with place("namespaces", kernel_path(PROGRAM)) as here:
        for run in range(_QUICK_RUNS):
            for (links, method), found in zip(_RAILS, rates, strict=True):
                note("Open MPI over several links", 0.3 + 0.05 * run / _QUICK_RUNS)
                task = Task(
                    network=Network(links=links, rate_bits=_RATE),
                    method=method,
                    traffic=Traffic(program="mpi"),
                )
                found.append(measure(here, task).throughput_bps)
    return [_times("multi_rail_mpi", rates[1], rates[0], None, "messages of 1 MiB of Open MPI")]


def _times(
    name: str, ours: list[float], one: list[float], target: float | None, conditions: str
) -> Figure:
    ratios = [a / b for a, b in zip(ours, one, strict=True)]
    value = median(ratios)
    return Figure(
        name=f"aggregation.{name}_4_links",
        value=value,
        unit="links",
        n=len(ratios),
        target="" if target is None else f">= {target:g}",
        holds=None if target is None else value >= target,
        note=f"{conditions}, 4 links of 100 Mbit/s over one; each run between "
        f"{min(ratios):.2f} and {max(ratios):.2f}; one link carries "
        f"{median(one) * 8e-6:.1f} Mbit/s",
    )


def _cut_here(options: BenchOptions, note: Note) -> list[Figure]:
    note("a cut link under MPTCP", 0.25)
    runs = 1 if options.quick else _RUNS
    with place("namespaces", kernel_path(PROGRAM)) as here:
        return [cut(here, Mptcp(), "mptcp", _RATE, runs)]


def _leftovers(options: BenchOptions, note: Note) -> list[Figure]:
    """Kill measurements at random moments, and count what `aferir clean` leaves of them.

    Errors: MissingError if there is nothing to measure with, and so nothing to leave.
    """
    if absent := packages.missing(["sh", "ip", "tc"]):
        raise MissingError(
            f"there is no {', '.join(absent)}", remedy=packages.install_command(absent)
        )
    draw = random.Random(options.seed)  # noqa: S311 - not cryptography
    kills = _QUICK_KILLS if options.quick else _KILLS
    left: list[str] = []
    caught = 0
    command = [sys.executable, "-c", _MEASURING, str(kernel_path(PROGRAM))]
    with own_state() as state:
        for kill in range(kills):
            note("killed measurements", 0.3 + 0.05 * kill / kills)
            with process.start(command, stdout=subprocess.PIPE) as child:
                assert child.stdout is not None
                child.stdout.readline()
                time.sleep(draw.uniform(0.0, 2.0))
                os.kill(child.pid, signal.SIGKILL)
            orphans = journal.orphans()
            caught += bool(orphans)
            left += [*registry.clean(orphans), *leftovers(state)]
    return [
        Figure(
            name="aggregation.left_after_kills",
            value=float(len(left)) if caught else None,
            unit="1",
            n=kills,
            target="== 0",
            holds=not left if caught else None,
            note=f"{caught} of {kills} had made something; {'; '.join(left[:3]) or 'nothing left'}",
        )
    ]
