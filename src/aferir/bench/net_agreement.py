"""Whether our sweep over MPI and NetPIPE say the same of one network.

Both run under one mpirun with the same options, the same sizes and the same number of round trips,
alternately and many times. NetPIPE reports the best of its three trials, and so does ours; of all
runs the lower quartile is compared, size by size. The best run says little: now and then a machine
is a third faster for a second, and of two halves of NetPIPE's own runs only one has that second.

Of a hundred sizes a few are apart by chance, NetPIPE's own halves as much as the two. Where they
are, both measure again as often as before, and all runs count: a real difference stays.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import msgspec

from aferir import process
from aferir.bench.options import BenchOptions, Note
from aferir.environments.namespace import Pair, veth_pair
from aferir.environments.undo import MARK
from aferir.errors import AferirError, MissingError
from aferir.model.bench import Figure
from aferir.model.record import Series
from aferir.statistics.intervals import median_interval
from aferir.workloads.kernels import kernel_path
from aferir.workloads.mpi import find_launcher
from aferir.workloads.netpipe import netpipe_options, parse_points
from aferir.workloads.network import MPI_PROGRAM, NETWORK

PEERS = ("netpipe-openmpi",)
AGREEMENT_PERCENT = 5.0
_AGAIN = 3
"""Times at most that sizes which are apart are measured again."""
_TIME_LIMIT_S = 300.0
_RATE = "1gbit"

# Short trials, many of them: on a busy machine some fall between what disturbs.
_MCA = ("--mca", "pml", "ob1", "--mca", "btl", "tcp,self")
_AGENT = """#!/bin/sh
host=$1
shift
case $host in
  {client_address}) name={client} cpu={client_cpu} ;;
  *) name={server} cpu={server_cpu} ;;
esac
exec taskset -c $cpu ip netns exec $name unshare -u sh -c "hostname $name; $*"
"""


class Range(msgspec.Struct, frozen=True):
    """Sizes of messages, the round trips of each trial, and how many runs."""

    least: int
    most: int
    rounds: int
    runs: int


_LOOPBACK = (Range(1, 16384, 100, 31), Range(24576, 2**20, 10, 31))
_VETH = (Range(1, 16384, 100, 61), Range(24576, 2**20, 5, 13))
_QUICK = (Range(1, 4096, 50, 8), Range(24576, 2**18, 5, 3))


class Wire(msgspec.Struct, frozen=True):
    """A network that two ranks are on."""

    name: str
    command: tuple[str, ...]
    """mpirun with all its options, up to the program."""
    variables: dict[str, str] = {}


Curve = dict[int, float]
"""Seconds of a message by its size in bytes."""


def figures(options: BenchOptions, note: Note) -> list[Figure]:
    """Over loopback, and over a pair of namespaces whose link is shaped to 1 Gbit/s."""
    found: list[Figure] = []
    networks = (("loopback", _loopback, _LOOPBACK), ("veth_1gbit", _shaped_pair, _VETH))
    for place, (name, made, ranges) in enumerate(networks):

        def within(text: str, share: float, place: int = place) -> None:
            note(text, (place + share) / len(networks))

        try:
            peer = _peer(options.peers)
            with made() as wire:
                found += _compare(wire, peer, _QUICK if options.quick else ranges, within)
        except AferirError as error:
            found.append(_nothing(name, error.message))
    return found


def judge(
    name: str, ours: Sequence[Curve], theirs: Sequence[Curve], again: int = 0
) -> list[Figure]:
    """Figures from the curves of all runs of both; each size that both have measured counts.

    At `again` sizes they measured again, because they were apart.
    """
    mine, peers = _quartile(ours), _quartile(theirs)
    sizes = sorted(mine.keys() & peers.keys())
    if not sizes:
        return [_nothing(name, "no size was measured by both")]
    ratios = {size: mine[size] / peers[size] for size in sizes}
    worst = max(sizes, key=lambda size: abs(ratios[size] - 1))
    beyond = _beyond(ratios)
    runs = sum(sizes[0] in curve for curve in ours)
    middle = median_interval(list(ratios.values()))
    return [
        Figure(
            name=f"{name}.worst_disagreement",
            value=100 * abs(ratios[worst] - 1),
            unit="percent",
            n=len(sizes),
            target=f"<= {AGREEMENT_PERCENT:g}",
            holds=not beyond,
            peer="netpipe-openmpi",
            note=f"of {len(sizes)} sizes, {len(beyond)} are further apart; at {worst} bytes "
            f"{mine[worst] * 1e6:.2f} us beside {peers[worst] * 1e6:.2f}; {again} were measured "
            "again; latency and throughput are one measurement",
        ),
        Figure(
            name=f"{name}.median_ratio",
            value=median(ratios.values()),
            unit="ratio",
            n=len(sizes),
            interval=None if middle is None else (middle.low, middle.high),
            note="of a message's time, ours over theirs, over all sizes",
        ),
        _at(f"{name}.latency", sizes[0], mine, peers, runs),
        _at(f"{name}.throughput", sizes[-1], mine, peers, runs),
        *_with_itself(name, theirs),
    ]


def _beyond(ratios: Mapping[int, float]) -> list[int]:
    return [size for size, ratio in ratios.items() if abs(ratio - 1) * 100 > AGREEMENT_PERCENT]


def _with_itself(name: str, theirs: Sequence[Curve]) -> list[Figure]:
    """What the same judgement says of NetPIPE's even runs beside its odd ones: the noise in it."""
    even, odd = _quartile(theirs[::2]), _quartile(theirs[1::2])
    ratios = {size: even[size] / odd[size] for size in even.keys() & odd.keys()}
    if not ratios:
        return []
    return [
        Figure(
            name=f"{name}.netpipe_with_itself",
            value=100 * max(abs(ratio - 1) for ratio in ratios.values()),
            unit="percent",
            n=len(ratios),
            note=f"its even runs beside its odd ones: {len(_beyond(ratios))} sizes are further "
            f"apart than {AGREEMENT_PERCENT:g} %",
        )
    ]


def _at(name: str, size: int, mine: Curve, peers: Curve, runs: int) -> Figure:
    """One size, in seconds or bytes a second."""
    bulk = name.endswith("throughput")
    ours, theirs = (size / c[size] if bulk else c[size] for c in (mine, peers))
    return Figure(
        name=name,
        value=ours,
        unit="B/s" if bulk else "s",
        n=runs,
        peer="netpipe-openmpi",
        peer_value=theirs,
        ratio=ours / theirs,
        note=f"messages of {size} bytes, lower quartile of the runs",
    )


def _quartile(curves: Sequence[Curve]) -> Curve:
    """The lower quartile over the runs, size by size."""
    runs: dict[int, list[float]] = {}
    for curve in curves:
        for size, seconds in curve.items():
            runs.setdefault(size, []).append(seconds)
    return {size: sorted(values)[(len(values) - 1) // 4] for size, values in runs.items()}


def _nothing(name: str, why: str) -> Figure:
    return Figure(
        name=f"{name}.worst_disagreement",
        value=None,
        unit="percent",
        n=0,
        target=f"<= {AGREEMENT_PERCENT:g}",
        note=why,
    )


def _peer(named: Mapping[str, Path]) -> Path:
    found = named.get(PEERS[0]) or shutil.which("NPopenmpi")
    if found is None:
        raise MissingError(
            "there is no NPopenmpi on this machine", remedy="apt-get install netpipe-openmpi"
        )
    return Path(found)


def _compare(wire: Wire, peer: Path, ranges: Sequence[Range], note: Note) -> list[Figure]:
    both = _Both(wire, peer)
    both.measure(ranges, note)
    measured_again: set[int] = set()
    for _ in range(_AGAIN):
        apart = apart_at(both.ours, both.theirs)
        if not apart:
            break
        measured_again.update(apart)
        both.measure(around(apart, ranges), note)
    return judge(wire.name, both.ours, both.theirs, len(measured_again))


def apart_at(ours: Sequence[Curve], theirs: Sequence[Curve]) -> list[int]:
    """Sizes at which the two are further apart than they may be."""
    mine, peers = _quartile(ours), _quartile(theirs)
    return _beyond({size: mine[size] / peers[size] for size in sorted(mine.keys() & peers.keys())})


def around(apart: Sequence[int], ranges: Sequence[Range]) -> list[Range]:
    """For each such size the one before it, to have TCP run in, and itself.

    Sizes are powers of two and the middles between them, each with some bytes less and more.
    """
    bases = [size for power in range(31) for size in (2**power, 3 * 2**power // 2)]
    nearest = sorted({min(bases, key=lambda base: abs(base - size)) for size in apart})
    return [
        Range(max(k for k in (1, *bases) if k < max(base, 2)), base, part.rounds, part.runs)
        for base in nearest
        for part in ranges
        if part.least <= base <= part.most
    ]


class _Both:
    """Curves of the two programs, run by turns."""

    def __init__(self, wire: Wire, peer: Path) -> None:
        self.ours: list[Curve] = []
        self.theirs: list[Curve] = []
        self._wire = wire
        self._peer = peer
        self._program = kernel_path(f"{MPI_PROGRAM}-openmpi")

    def measure(self, ranges: Sequence[Range], note: Note) -> None:
        """Each range as often as it says."""
        turns = [part for part in ranges for _ in range(part.runs)]
        for k, part in enumerate(turns):
            note(f"{self._wire.name}, {part.least} to {part.most} bytes", k / len(turns))
            # Whoever goes second finds a warmer machine, so each is second every other time.
            for mine in (True, False) if k % 2 else (False, True):
                if mine:
                    self.ours.append(_sweep(self._wire, self._program, part))
                else:
                    self.theirs.append(_netpipe(self._wire, self._peer, part))


def _sweep(wire: Wire, program: Path, part: Range) -> Curve:
    # Without one-way delays, which NetPIPE has not: what went before changes how TCP acknowledges.
    options = ["--rounds", str(part.rounds), "--trials", "3", "--clock", "none"]
    options += ["--least-bytes", str(part.least)]
    stdout = _run(wire, [str(program), *options, "--most-bytes", str(part.most)])
    for figure in NETWORK.parse(stdout):
        if isinstance(figure, Series) and figure.metric == "latency_s":
            return {int(size): v for size, v in zip(figure.at, figure.values, strict=True)}
    return {}


def _netpipe(wire: Wire, peer: Path, part: Range) -> Curve:
    options = netpipe_options(
        {
            "transport": "mpi",
            "least_bytes": part.least,
            "most_bytes": part.most,
            "rounds": part.rounds,
        }
    )
    points = parse_points(_run(wire, [str(peer), *options]))
    return {point.bytes: point.bytes / point.throughput_bps for point in points}


def _run(wire: Wire, program: Sequence[str]) -> str:
    return process.run(
        [*wire.command, *program], environment=wire.variables, timeout_s=_TIME_LIMIT_S
    ).stdout


def _mpirun(bound: str) -> list[str]:
    # Ranks that wait spin: on a busy machine one has its turn while the other has not, and a round
    # trip takes as long as the scheduler likes. A sweep lasts less than a second.
    first = ["chrt", "--rr", "1"] if os.geteuid() == 0 else []
    as_root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    launcher = find_launcher("openmpi").path
    return [*first, launcher, *as_root, "--oversubscribe", "--bind-to", bound, *_MCA]


def _two_cpus() -> tuple[int, int]:
    """One for each rank: one that the scheduler moves beside the other sees another network."""
    cpus = sorted(os.sched_getaffinity(0))
    return cpus[0], cpus[-1]


@contextmanager
def _loopback() -> Iterator[Wire]:
    first, last = _two_cpus()
    command = [*_mpirun("none" if first == last else "core"), "--mca", "btl_tcp_if_include", "lo"]
    command += ["-n", "2"]
    yield Wire("loopback", tuple(command))


@contextmanager
def _shaped_pair() -> Iterator[Wire]:
    """Two namespaces as two hosts: mpirun runs in one and starts its daemon in the other."""
    if os.geteuid() != 0:
        raise MissingError("network namespaces need root", remedy="run it as root")
    with veth_pair() as pair:
        for line in shaping(pair):
            process.run(line, timeout_s=_TIME_LIMIT_S)
        agent = pair.folder / "agent"
        server_cpu, client_cpu = _two_cpus()
        script = _AGENT.format(
            client_address=pair.client_address,
            client=pair.client,
            client_cpu=client_cpu,
            server=pair.server,
            server_cpu=server_cpu,
        )
        agent.write_text(script, encoding="utf-8")
        agent.chmod(0o755)
        included = [
            word
            for layer in ("btl", "oob")
            for word in ("--mca", f"{layer}_tcp_if_include", pair.interface)
        ]
        hosts = f"{pair.server_address}:1,{pair.client_address}:1"
        command = [str(agent), pair.server_address, *_mpirun("none"), *included]
        command += ["--mca", "plm_rsh_agent", str(agent), "--host", hosts, "-n", "2"]
        yield Wire("veth_1gbit", tuple(command), {MARK: pair.mark})


def shaping(pair: Pair) -> list[list[str]]:
    """What makes both ends send 1 Gbit/s: packets as they are on a wire, and a bucket of two.

    With a larger bucket, or with segmentation left to the interface, whole messages pass unshaped.
    """
    lines = []
    for name in (pair.server, pair.client):
        inside = ["ip", "netns", "exec", name]
        off = ["tso", "off", "gso", "off", "gro", "off"]
        lines.append([*inside, "ethtool", "-K", pair.interface, *off])
        bucket = ["tbf", "rate", _RATE, "burst", "3kb", "latency", "20ms"]
        lines.append([*inside, "tc", "qdisc", "add", "dev", pair.interface, "root", *bucket])
    return lines
