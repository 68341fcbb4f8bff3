"""Judge whether our sweep over MPI and NetPIPE agree on one network.

Both run under one mpirun with the same options, the same sizes and the same number of round trips,
alternately and many times. NetPIPE reports the best of its three trials, and so does ours.

Of a hundred sizes a few differ by chance, NetPIPE from itself as often as the two from each other.
Where either happens, both measure again as often as before, and all runs count: a real difference
stays. If NetPIPE does not agree with itself in the end, no agreement is claimed.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from aferir.errors import AferirError, MissingError
from aferir.linux import process
from aferir.linux.namespace import Pair, veth_pair
from aferir.linux.undo import MARK
from aferir.model.bench import Figure
from aferir.model.record import Series
from aferir.programs.kernels import kernel_path
from aferir.programs.mpi import find_launcher
from aferir.programs.network.netpipe import NetpipeParameters, netpipe_options, parse_points
from aferir.programs.network.sweep import MPI_PROGRAM, NETWORK
from aferir.selftest.options import BenchOptions, Note
from benchmarks.network.sizes import PEER, Curve, Range, Turn, around, judge, nothing, unsettled

PEERS = (PEER,)
_AGAIN = 8
"""Largest number of times that sizes which differ are measured again."""
_TIME_LIMIT_S = 300.0
_RATE = "1gbit"

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

# A trial is long beside what went before it: over loopback, 10 round trips of 49,149 bytes after a
# warmed-up trial and after none differ by 5 %, 40 do not.
_LOOPBACK = (Range(1, 12288, 100, 32), Range(16384, 2**20, 40, 32))
_VETH = (Range(1, 12288, 100, 60), Range(16384, 98304, 20, 16), Range(131072, 2**20, 5, 16))
_QUICK = (Range(1, 4096, 50, 8), Range(16384, 98304, 20, 4))


class Wire(msgspec.Struct, frozen=True):
    """A network that two ranks communicate over."""

    name: str
    command: tuple[str, ...]
    """The command of mpirun with all its options, without the program."""
    variables: dict[str, str] = {}


def figures(options: BenchOptions, note: Note) -> list[Figure]:
    """Compare over loopback, and over a pair of namespaces whose link is shaped to 1 Gbit/s."""
    found: list[Figure] = []
    networks = (("loopback", _loopback, _LOOPBACK), ("veth_1gbit", _shaped_pair, _VETH))
    for place, (name, made, ranges) in enumerate(networks):

        def within(text: str, share: float, place: int = place) -> None:
            note(text, (place + share) / len(networks))

        try:
            peer = _peer(options.peers)
            with made() as wire:
                chosen, again = (_QUICK, 1) if options.quick else (ranges, _AGAIN)
                found += _compare(wire, peer, chosen, again, within)
        except AferirError as error:
            found.append(nothing(name, error.message))
    return found


def _peer(named: Mapping[str, Path]) -> Path:
    found = named.get(PEERS[0]) or shutil.which("NPopenmpi")
    if found is None:
        raise MissingError(
            "there is no NPopenmpi on this machine", remedy="apt-get install netpipe-openmpi"
        )
    return Path(found)


def _compare(
    wire: Wire, peer: Path, ranges: Sequence[Range], again: int, note: Note
) -> list[Figure]:
    both = _Both(wire, peer)
    both.measure(ranges, note)
    measured_again: set[int] = set()
    for _ in range(again):
        apart = unsettled(both.turns)
        if not apart:
            break
        measured_again.update(apart)
        both.measure(around(apart, ranges), note)
    return judge(wire.name, both.turns, len(measured_again))


class _Both:
    """Run the two programs alternately."""

    def __init__(self, wire: Wire, peer: Path) -> None:
        self.turns: list[Turn] = []
        self._wire = wire
        self._peer = peer
        self._program = kernel_path(f"{MPI_PROGRAM}-openmpi")

    def measure(self, ranges: Sequence[Range], note: Note) -> None:
        """Measure each range `turns` times."""
        parts = [part for part in ranges for _ in range(part.turns)]
        for done, part in enumerate(parts):
            note(f"{self._wire.name}, {part.least} to {part.most} bytes", done / len(parts))
            # The second program finds a warmer machine, so the order alternates.
            self.turns.append(self._turn(part, ours_first=len(self.turns) % 2 == 0))

    def _turn(self, part: Range, *, ours_first: bool) -> Turn:
        if ours_first:
            ours = _sweep(self._wire, self._program, part)
            return Turn(ours, _netpipe(self._wire, self._peer, part), ours_first)
        theirs = _netpipe(self._wire, self._peer, part)
        return Turn(_sweep(self._wire, self._program, part), theirs, ours_first)


def _sweep(wire: Wire, program: Path, part: Range) -> Curve:
    # Without one-way delays, which NetPIPE lacks: earlier traffic changes how TCP acknowledges.
    options = ["--rounds", str(part.rounds), "--trials", "3", "--clock", "none"]
    options += ["--least-bytes", str(part.least)]
    stdout = _run(wire, [str(program), *options, "--most-bytes", str(part.most)])
    for figure in NETWORK.parse(stdout):
        if isinstance(figure, Series) and figure.metric == "latency_s":
            return {int(size): v for size, v in zip(figure.at, figure.values, strict=True)}
    return {}


def _netpipe(wire: Wire, peer: Path, part: Range) -> Curve:
    options = netpipe_options(
        NetpipeParameters(
            transport="mpi", least_bytes=part.least, most_bytes=part.most, rounds=part.rounds
        )
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
    """Choose a CPU for each rank: ranks that the scheduler moves see another network."""
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
    """Use two namespaces as two hosts: mpirun runs in one and starts its daemon in the other."""
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
    """Return the commands that make both ends send 1 Gbit/s, with a bucket of two packets.

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
