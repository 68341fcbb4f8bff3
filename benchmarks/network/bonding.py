"""Judge whether every bonding mode serves its purpose, what cures balance-rr, and the cost of cuts.

This runs in an emulated guest whose time counts instructions, because few kernels of virtual
machines have the driver.
"""

from __future__ import annotations

from statistics import median

from aferir.aggregation.measure import Result, measure
from aferir.aggregation.places import Place, place
from aferir.aggregation.traffic import PROGRAM, Task
from aferir.aggregation.tuning import ROUND_ROBIN, share
from aferir.errors import AferirError
from aferir.model.bench import Figure
from aferir.model.network import (
    Bonding,
    Mode,
    Network,
    Pattern,
    Traffic,
    Tuning,
)
from aferir.programs.kernels import kernel_path
from aferir.selftest.options import BenchOptions, Note
from benchmarks.network.cut import cut

FEWER = 0.1
"""Largest permitted ratio of retransmissions: balance-rr tuned over untuned."""
KEPT = 0.98
"""Smallest permitted ratio of throughputs: balance-rr tuned over untuned; repetitions differ by up
to 1 %.
"""
_GUEST_RATE = 25_000_000
_CURES = 4
_CUT_MODES: tuple[Mode, ...] = ("active-backup", "802.3ad", "balance-tlb", "balance-alb")


def bonding(_: BenchOptions, note: Note) -> list[Figure]:
    """Measure what every mode does, what cures balance-rr, and what a cut link costs."""
    note("a guest with the bonding driver", 0.35)
    with place("guest", kernel_path(PROGRAM)) as guest:
        found = [_modes(guest, note), *_cure(guest, note)]
        for number, mode in enumerate(_CUT_MODES):
            note(f"a cut link under {mode}", 0.8 + 0.2 * number / len(_CUT_MODES))
            found.append(cut(guest, Bonding(mode=mode), mode, _GUEST_RATE, 1))
    return found


class _Passes:
    """Network and traffic on which a bonding mode is tried, and the result that it must achieve."""

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
        """Whether the throughput is that of enough links, all are up, and each carries enough."""
        carried = result.throughput_bps * 8 / self.network.rate_bits
        loads = result.link_bytes.values()
        even = min(loads) >= self._least_share * max(loads)
        return result.links_up == 2 and carried >= self._links and even


_MODES: dict[Mode, _Passes] = {
    # Only this mode carries one connection over several links; it starts slowly.
    "balance-rr": _Passes(seconds=4.0, links=1.7, least_share=0.9),
    "active-backup": _Passes(links=0.9),
    "balance-xor": _Passes(connections=16, links=1.7, least_share=0.3),
    "broadcast": _Passes(links=0.7, least_share=0.9),
    "802.3ad": _Passes(connections=16, links=1.7, least_share=0.3),
    # It redistributes every 10 s, by the bytes that were sent to each receiver.
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
    """Alternate balance-rr with its defaults and tuned."""
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
