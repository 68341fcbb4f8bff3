"""Network links used as one: what each method carries, and what it takes to bear a cut link.

Bonding is measured in an emulated guest whose time counts instructions, because few kernels of
virtual machines have the driver; the rest in namespaces of this kernel, methods interleaved.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from statistics import median

from aferir import registry
from aferir.aggregation.measure import Curve, Result, measure
from aferir.aggregation.places import Place, place
from aferir.aggregation.traffic import PROGRAM, Task
from aferir.aggregation.tuning import ROUND_ROBIN, share
from aferir.errors import AferirError
from aferir.linux import journal, process
from aferir.machine import packages
from aferir.model.bench import Figure
from aferir.model.network import (
    Bonding,
    Event,
    Method,
    Mode,
    Mptcp,
    Multipath,
    MultiRail,
    Network,
    Pattern,
    Single,
    Traffic,
    Tuning,
    one_after_another,
)
from aferir.programs.kernels import kernel_path
from aferir.selftest.leftovers import leftovers, own_state
from aferir.selftest.options import BenchOptions, Note

MPTCP_LINKS = 3.6
"""Times one link that MPTCP has to carry over 4, for one connection of an unmodified program."""
MULTIPATH_LINKS = 3.2
"""The same for 16 connections over routes: a hash deals out connections, not bytes."""
FEWER = 0.1
"""Retransmissions of tuned balance-rr over those untuned, at most."""
KEPT = 0.98
"""Its throughput over that untuned, at least; repeats differ by up to 1 %."""
_RATE = 100_000_000
_GUEST_RATE = 25_000_000
_RUNS, _QUICK_RUNS = 5, 3
_CURES = 4
_RAILS: tuple[tuple[int, Method], ...] = ((1, Single()), (4, MultiRail()))
_KILLS, _QUICK_KILLS = 6, 2
_CUT_S, _RESTORED_S, _CUT_RUN_S = 1.0, 2.5, 7.0
_CARRIES = 0.1
"""Of the highest rate of any link: below it there are acknowledgements alone, or probes."""
_CUT_MODES: tuple[Mode, ...] = ("active-backup", "802.3ad", "balance-tlb", "balance-alb")
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
    """All figures; with `quick` those of this kernel alone. What cannot be measured says why."""
    found: list[Figure] = []
    here: tuple[_Part, ...] = (_speed, _cut_here, _leftovers)
    long: tuple[_Part, ...] = () if options.quick else (_rails, _guest)
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
    """iperf3, unmodified: one connection alone, by MPTCP, and 16 over routes."""
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
    """Open MPI's own use of several links, one rank a host, beside one link."""
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
        return [_cut(here, Mptcp(), "mptcp", _RATE, runs)]


def _cut(where: Place, method: Method, name: str, rate_bits: int, runs: int) -> Figure:
    task = Task(
        network=Network(links=2, rate_bits=rate_bits),
        method=method,
        traffic=Traffic(seconds=_CUT_RUN_S),
        events=one_after_another(2, _CUT_S, _RESTORED_S),
    )
    found = [measure(where, task) for _ in range(runs)]  # an error where a byte is lost for good
    gaps = [result.gap_s for result in found]
    lost = median(result.lost_bytes for result in found)
    hit = min(_hit(result.link_curves, task.events) for result in found)
    return Figure(
        name=f"aggregation.cut.{name}_gap_s",
        value=median(gaps),
        unit="s",
        n=runs,
        target="the transfer goes on and every byte arrives",
        holds=hit > 0,
        note=f"both links cut in turn for {_RESTORED_S - _CUT_S:g} s, {hit} of them or more while "
        f"it carried the transfer; longest time without a byte, up to {max(gaps):.3f} s; "
        f"{lost:.0f} bytes sent again for good reason",
    )


def _hit(curves: Sequence[Curve], events: Sequence[Event]) -> int:
    """How many links were cut while they carried some of the traffic."""
    carried = {curve.name: curve for curve in curves}
    highest = max((bps for curve in curves for bps in curve.bps), default=0.0)
    found = 0
    for event in events:
        curve = carried.get(f"eth{event.link}")
        if curve is not None and not event.up:
            before = zip(curve.at_s, curve.bps, strict=True)
            rates = [bps for at_s, bps in before if event.at_s - 0.6 <= at_s < event.at_s - 0.1]
            found += bool(rates) and max(rates) > _CARRIES * highest
    return found


def _leftovers(options: BenchOptions, note: Note) -> list[Figure]:
    """Measurements killed at drawn moments; what `aferir clean` leaves of them."""
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


def _guest(_: BenchOptions, note: Note) -> list[Figure]:
    note("a guest with the bonding driver", 0.35)
    with place("guest", kernel_path(PROGRAM)) as guest:
        found = [_modes(guest, note), *_cure(guest, note)]
        for number, mode in enumerate(_CUT_MODES):
            note(f"a cut link under {mode}", 0.8 + 0.2 * number / len(_CUT_MODES))
            found.append(_cut(guest, Bonding(mode=mode), mode, _GUEST_RATE, 1))
    return found


class _Passes:
    """What a mode of bonding is for, and whether it did it."""

    def __init__(
        self,
        *,
        hosts: int = 2,
        connections: int = 1,
        pattern: Pattern = "pair",
        seconds: float = 2.0,
        rate_bits: int = _GUEST_RATE,
        links: float = 0.0,
        least_share: float = 0.0,
    ) -> None:
        self.network = Network(hosts=hosts, links=2, rate_bits=rate_bits)
        self.traffic = Traffic(pattern=pattern, connections=connections, seconds=seconds)
        self._links = links
        self._least_share = least_share

    def by(self, result: Result) -> bool:
        """All links up, at least so many links' worth carried, and so much on each of them."""
        carried = result.throughput_bps * 8 / self.network.rate_bits
        loads = result.link_bytes.values()
        even = min(loads) >= self._least_share * max(loads)
        return result.links_up == 2 and carried >= self._links and even


_MODES: dict[Mode, _Passes] = {
    # No other mode carries one connection over more than one link; its start takes a while.
    "balance-rr": _Passes(seconds=4.0, links=1.7, least_share=0.9),
    "active-backup": _Passes(links=0.9),
    "balance-xor": _Passes(connections=16, links=1.7, least_share=0.3),
    "broadcast": _Passes(links=0.7, least_share=0.9),
    "802.3ad": _Passes(connections=16, links=1.7, least_share=0.3),
    # It deals out anew every 10 s, by what each receiver was sent meanwhile.
    "balance-tlb": _Passes(
        hosts=3, pattern="fan-out", seconds=21, rate_bits=5_000_000, least_share=0.2
    ),
    "balance-alb": _Passes(hosts=3, pattern="fan-in", least_share=0.3),
}


def _modes(guest: Place, note: Note) -> Figure:
    failed = []
    for number, (mode, passes) in enumerate(_MODES.items()):
        note(f"bonding, {mode}", 0.4 + 0.2 * number / len(_MODES))
        task = Task(network=passes.network, method=Bonding(mode=mode), traffic=passes.traffic)
        try:
            result = measure(guest, task)
        except AferirError as error:
            failed.append(f"{mode}: {error.message}")
            continue
        if not passes.by(result):
            loads = "/".join(f"{count * 1e-6:.1f}" for count in result.link_bytes.values())
            rate = result.throughput_bps * 8e-6
            failed.append(f"{mode}: {rate:.1f} Mbit/s, {loads} MB by link")
    return Figure(
        name="aggregation.modes_of_bonding",
        value=float(len(_MODES) - len(failed)),
        unit="1",
        n=1,
        target=f"== {len(_MODES)}",
        holds=not failed,
        note="; ".join(failed) or "each comes up and does what it is for, over 2 links",
    )


def _cure(guest: Place, note: Note) -> list[Figure]:
    """balance-rr as it is and tuned, in turn."""
    arms = (Tuning(), ROUND_ROBIN)
    found: tuple[list[Result], list[Result]] = ([], [])
    for run in range(_CURES):
        for tuning, results in zip(arms, found, strict=True):
            note("balance-rr's retransmissions", 0.6 + 0.2 * run / _CURES)
            task = Task(
                network=Network(links=4, rate_bits=_GUEST_RATE),
                method=Bonding(mode="balance-rr"),
                traffic=Traffic(seconds=3),
                tuning=tuning,
            )
            results.append(measure(guest, task))
    before, after = (sum(share(r) for r in results) / _CURES for results in found)
    slow, fast = (median(r.throughput_bps for r in results) for results in found)
    ratio = after / before if before > 0 else 1.0
    counts = [sum(r.retransmitted_segments for r in results) for results in found]
    sent = sum(r.sent_segments for r in found[0])
    return [
        Figure(
            name="aggregation.tuned_retransmissions",
            value=ratio,
            unit="1",
            n=_CURES,
            target=f"<= {FEWER:g}",
            holds=ratio <= FEWER,
            note=f"tuned over untuned, 4 links of 25 Mbit/s: {counts[1]} for {counts[0]} of "
            f"{sent} segments",
        ),
        Figure(
            name="aggregation.tuned_throughput",
            value=fast / slow,
            unit="1",
            n=_CURES,
            target=f">= {KEPT:g}",
            holds=fast / slow >= KEPT,
            note=f"tuned over untuned: {fast * 8e-6:.1f} for {slow * 8e-6:.1f} Mbit/s",
        ),
    ]
