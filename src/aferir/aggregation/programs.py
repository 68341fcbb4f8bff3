"""The programs that send and receive: their command lines, and what they print.

network-stream is ours: it verifies every byte, looks at each link and needs no library, so that a
guest without a userland of its own runs it. iperf3(1) stands for any program that knows nothing of
MPTCP: mptcpize(8) preloads a library that makes its TCP sockets MPTCP ones. net-sweep-mpi sends
messages of MPI, which has several addresses to choose from and uses all it is told (multi-rail).
"""

from __future__ import annotations

import shlex
from pathlib import PurePosixPath
from typing import Protocol, TypeVar

import msgspec

from aferir.errors import ProgramError
from aferir.model.network import Stream, Traffic

_GRACE_S = 60
"""How much longer than they were told to send streams may take: a cut link delays them."""


class Samples(msgspec.Struct, frozen=True):
    """Traffic of one end over time, interval by interval."""

    at_s: tuple[float, ...]
    interval_bytes: tuple[int, ...]
    link_names: tuple[str, ...]
    link_received: tuple[tuple[int, ...], ...]
    link_sent: tuple[tuple[int, ...], ...]


class Sent(msgspec.Struct, frozen=True):
    """What a sender printed."""

    verified: bool
    duration_s: float = 0.0
    bytes: int = 0
    traffic: Samples | None = None
    counters: dict[str, int] = {}
    error: str = ""


class Received(msgspec.Struct, frozen=True):
    """What a receiver printed; `gap_s` is its longest time without a byte on any connection."""

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
    """How one program receives and sends a stream, in the words of a shell."""

    def prepare(self, prefix: str) -> list[str]:
        """Files to be written first; `prefix` goes before the hosts' names."""
        ...

    def receive(self, stream: Stream, number: int) -> str:
        """Receive stream `number`, and end with it."""
        ...

    def ready(self, stream: Stream, number: int, inside: str) -> str:
        """A condition: the receiver listens; `inside` runs a command where it is."""
        ...

    def send(self, stream: Stream) -> str:
        """Send it."""
        ...

    def ends(self, sender: str, receiver: str) -> tuple[Sent, Received]:
        """What both printed. Errors: ProgramError where it is unreadable."""
        ...


def commands(traffic: Traffic, stream_program: str, *, mptcp: bool) -> Commands:
    """Command lines of the program that the traffic asks for."""
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
    """What `iperf3 --json` prints, as far as it is needed."""

    end: _IperfEnd = _IperfEnd()
    error: str = ""


class _Iperf3:
    """TCP itself sees to it that bytes arrive unchanged; no more is known of them."""

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
    """What net-sweep-mpi prints, as far as it is needed."""

    verified: bool = False
    sizes: tuple[_Size, ...] = ()
    error: str = ""


_MPI_PROGRAM = "net-sweep-mpi-openmpi"
_MPI_MESSAGE = 1 << 20
_HOSTS = "".join(f"10.0.0.{number} host{number}\n" for number in (1, 2))
_ENTER = "hostname {host}; mount --bind hosts /etc/hosts; "
"""Inside a mount namespace of its own, which ip-netns(8) makes: the host's file is not touched."""


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
        """Rank 0 speaks for both."""
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
