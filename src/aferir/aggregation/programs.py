"""The programs that send and receive traffic: their command lines, and their output.

network-stream is part of aferir: it verifies every byte, samples each link, and needs no library,
so that it runs in a guest without a userland. iperf3(1) represents programs that do not support
MPTCP: mptcpize(8) preloads a library that makes their TCP sockets MPTCP ones. net-sweep-mpi sends
MPI messages; MPI knows several addresses of a host and uses all it is told of (multi-rail).
"""

from __future__ import annotations

import shlex
from pathlib import PurePosixPath
from typing import Protocol, TypeVar

import msgspec

from aferir.errors import ProgramError
from aferir.model.network import Stream, Traffic

_GRACE_S = 60
"""Seconds beyond the sending time that streams may take, as a cut link delays them."""


class Samples(msgspec.Struct, frozen=True):
    """Bytes at one end in each sampling interval, in total and by link; `at_s` are its ends."""

    at_s: tuple[float, ...]
    interval_bytes: tuple[int, ...]
    link_names: tuple[str, ...]
    link_received: tuple[tuple[int, ...], ...]
    link_sent: tuple[tuple[int, ...], ...]


class Sent(msgspec.Struct, frozen=True):
    """Figures that a sender prints."""

    verified: bool
    duration_s: float = 0.0
    bytes: int = 0
    traffic: Samples | None = None
    counters: dict[str, int] = {}
    error: str = ""


class Received(msgspec.Struct, frozen=True):
    """Output of a receiver; `gap_s` is its longest time without a byte on any connection."""

    verified: bool
    duration_s: float = 0.0
    bytes: int = 0
    gap_s: float = 0.0
    gap_after_s: float = 0.0
    connection_bytes: tuple[int, ...] = ()
    connection_gap_s: tuple[float, ...] = ()
    traffic: Samples | None = None
    counters: dict[str, int] = {}
    error: str = ""


_Printed = TypeVar("_Printed", Sent, Received, "_Iperf", "_Sweep")


class Commands(Protocol):
    """Shell commands with which one program receives and sends a stream."""

    def prepare(self, prefix: str) -> list[str]:
        """Commands that write files beforehand; `prefix` precedes the hosts' names."""
        ...

    def receive(self, stream: Stream, number: int) -> str:
        """Command that receives stream `number` and ends with it."""
        ...

    def ready(self, stream: Stream, number: int, inside: str) -> str:
        """Shell condition, true once the receiver listens; `inside` runs a command there."""
        ...

    def send(self, stream: Stream) -> str:
        """Command that sends the stream."""
        ...

    def ends(self, sender: str, receiver: str) -> tuple[Sent, Received]:
        """Results that both ends printed. Errors: ProgramError if they cannot be parsed."""
        ...


def commands(traffic: Traffic, stream_program: str, *, mptcp: bool) -> Commands:
    """Commands of the sending and the receiving program for this kind of traffic."""
    if traffic.program == "iperf3":
        return _Iperf3(traffic, mptcp=mptcp)
    if traffic.program == "mpi":
        return _Mpi(stream_program, mptcp=mptcp)
    return _NetworkStream(traffic, stream_program, mptcp=mptcp)


class _NetworkStream:
    def __init__(self, traffic: Traffic, program: str, *, mptcp: bool) -> None:
        limit = int(traffic.seconds) + _GRACE_S
        self._program = program
        self._length = f"--milliseconds {traffic.seconds * 1e3:.0f}"
        self._every = f"--interval {traffic.interval_s * 1e3:.0f} --limit {limit}"
        self._every += " --mptcp" if mptcp else ""

    def prepare(self, prefix: str) -> list[str]:
        return []

    def receive(self, stream: Stream, number: int) -> str:
        return f"{self._program} receive {self._common(stream)} --ready ready.{number}"

    def ready(self, stream: Stream, number: int, inside: str) -> str:
        return f"[ -e ready.{number} ]"

    def send(self, stream: Stream) -> str:
        addresses = ",".join(stream.addresses)
        return f"{self._program} send --to {addresses} {self._length} {self._common(stream)}"

    def ends(self, sender: str, receiver: str) -> tuple[Sent, Received]:
        return _decode(sender, Sent), _decode(receiver, Received)

    def _common(self, stream: Stream) -> str:
        return f"--port {stream.port} --connections {stream.connections} {self._every}"


class _IperfSum(msgspec.Struct, frozen=True):
    seconds: float = 0.0
    bytes: int = 0
    retransmits: int = 0


class _IperfEnd(msgspec.Struct, frozen=True):
    sum_sent: _IperfSum = _IperfSum()
    sum_received: _IperfSum = _IperfSum()


class _Iperf(msgspec.Struct, frozen=True):
    """Part of the output of `iperf3 --json` that is read."""

    end: _IperfEnd = _IperfEnd()
    error: str = ""


class _Iperf3:
    """iperf3(1), which does not verify bytes beyond TCP's checksums."""

    def __init__(self, traffic: Traffic, *, mptcp: bool) -> None:
        self._program = "mptcpize run iperf3" if mptcp else "iperf3"
        self._seconds = traffic.seconds

    def prepare(self, prefix: str) -> list[str]:
        return []

    def receive(self, stream: Stream, number: int) -> str:
        return f"{self._program} --server --one-off --json --port {stream.port}"

    def ready(self, stream: Stream, number: int, inside: str) -> str:
        return f"{inside} ss -Hltn sport = :{stream.port} | grep -q ."

    def send(self, stream: Stream) -> str:
        to = f"--client {stream.addresses[0]} --port {stream.port}"
        how = f"--parallel {stream.connections} --time {self._seconds:.0f} --json"
        return f"{self._program} {to} {how}"

    def ends(self, sender: str, receiver: str) -> tuple[Sent, Received]:
        found = _decode(sender, _Iperf)
        sent, received = found.end.sum_sent, found.end.sum_received
        return (
            Sent(
                verified=not found.error,
                duration_s=sent.seconds,
                bytes=sent.bytes,
                counters={"TcpRetransSegs": sent.retransmits},
                error=found.error,
            ),
            Received(
                verified=not found.error,
                duration_s=received.seconds,
                bytes=received.bytes,
                error=found.error,
            ),
        )


class _Size(msgspec.Struct, frozen=True):
    message_bytes: int
    rounds: int
    throughput_bps: float


class _Sweep(msgspec.Struct, frozen=True):
    """Part of the output of net-sweep-mpi that is read."""

    verified: bool = False
    sizes: tuple[_Size, ...] = ()
    error: str = ""


_MPI_PROGRAM = "net-sweep-mpi-openmpi"
_MPI_MESSAGE = 1 << 20
_HOSTS = "".join(f"10.0.0.{number} host{number}\n" for number in (1, 2))
_ENTER = "hostname {host}; mount --bind hosts /etc/hosts; "
"""Commands for the mount namespace that ip-netns(8) creates, so that the host's /etc/hosts is not
touched."""


class _Mpi:
    """Two ranks of Open MPI; mpirun starts the second one by an agent instead of ssh."""

    def __init__(self, stream_program: str, *, mptcp: bool) -> None:
        self._program = PurePosixPath(stream_program).with_name(_MPI_PROGRAM)
        self._mpirun = "mptcpize run mpirun" if mptcp else "mpirun"

    def prepare(self, prefix: str) -> list[str]:
        enter = _ENTER.format(host="$h")
        inside = f'exec ip netns exec {prefix}$h unshare --uts sh -c "{enter}$*"'
        agent = f"#!/bin/sh\nh=$1; shift\n{inside}\n"
        return [
            f"printf %s {shlex.quote(agent)} > agent",
            f"printf %s {shlex.quote(_HOSTS)} > hosts",
            "chmod +x agent",
        ]

    def receive(self, stream: Stream, number: int) -> str:
        return "true"

    def ready(self, stream: Stream, number: int, inside: str) -> str:
        return "true"

    def send(self, stream: Stream) -> str:
        subnets = ",".join(f"{a.rpartition('.')[0]}.0/24" for a in stream.addresses)
        chosen = {
            "plm_rsh_agent": "$PWD/agent",
            "btl": "tcp,self",
            "pml": "ob1",
            "btl_tcp_if_include": subnets,
            "oob_tcp_if_include": "10.0.0.0/24",
            "mpi_yield_when_idle": "1",
        }
        parameters = " ".join(f"--mca {name} {value}" for name, value in chosen.items())
        sizes = f"--least-bytes {_MPI_MESSAGE} --most-bytes {_MPI_MESSAGE} --perturbation 0"
        program = f"{self._program} --mode stream {sizes} --trials 3 --rounds 20"
        ranks = "--allow-run-as-root --host host1:1,host2:1 -n 2"
        enter = _ENTER.format(host="host1")
        run = f"{enter}TMPDIR=$PWD exec {self._mpirun} {ranks} {parameters} {program}"
        return f"unshare --uts sh -c {shlex.quote(run)}"

    def ends(self, sender: str, receiver: str) -> tuple[Sent, Received]:
        """Results of both ends, from the output of rank 0."""
        found = _decode(sender, _Sweep)
        error = found.error or ("" if found.sizes else "mpirun printed no result")
        size = found.sizes[-1] if found.sizes else _Size(0, 0, 1.0)
        count = size.rounds * size.message_bytes
        seconds = count / size.throughput_bps
        return (
            Sent(verified=found.verified, duration_s=seconds, bytes=count, error=error),
            Received(verified=found.verified, duration_s=seconds, bytes=count, error=error),
        )


def _decode(text: str, kind: type[_Printed]) -> _Printed:
    try:
        return msgspec.json.decode(text.strip() or b"{}", type=kind)
    except msgspec.DecodeError as error:
        raise ProgramError(f"no readable result was printed: {error}") from None
