"""The programs that send and receive: their command lines, and what they print.

network-stream is ours: it verifies every byte, looks at each link and needs no library, so that a
guest without a userland of its own runs it. iperf3(1) stands for any program that knows nothing of
MPTCP: mptcpize(8) preloads a library that makes its TCP sockets MPTCP ones.
"""

from __future__ import annotations

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


_Printed = TypeVar("_Printed", Sent, Received, "_Iperf")


class Commands(Protocol):
    """How one program receives and sends a stream, in the words of a shell."""

    def receive(self, stream: Stream, number: int) -> str:
        """Receive stream `number`, and end with it."""
        ...

    def ready(self, stream: Stream, number: int, inside: str) -> str:
        """A condition: the receiver listens; `inside` runs a command where it is."""
        ...

    def send(self, stream: Stream) -> str:
        """Send it."""
        ...

    def sent(self, text: str) -> Sent:
        """What the sender printed. Errors: ProgramError where it is unreadable."""
        ...

    def received(self, text: str) -> Received:
        """What the receiver printed. Errors: ProgramError where it is unreadable."""
        ...


def commands(traffic: Traffic, stream_program: str, *, mptcp: bool) -> Commands:
    """Of the program that the traffic asks for."""
    if traffic.program == "iperf3":
        return _Iperf3(traffic, mptcp=mptcp)
    return _NetworkStream(traffic, stream_program, mptcp=mptcp)


class _NetworkStream:
    def __init__(self, traffic: Traffic, program: str, *, mptcp: bool) -> None:
        limit = int(traffic.seconds) + _GRACE_S
        self._program = program
        self._length = f"--milliseconds {traffic.seconds * 1e3:.0f}"
        self._every = f"--interval {traffic.interval_s * 1e3:.0f} --limit {limit}"
        self._every += " --mptcp" if mptcp else ""

    def receive(self, stream: Stream, number: int) -> str:
        return f"{self._program} receive {self._common(stream)} --ready ready.{number}"

    def ready(self, stream: Stream, number: int, inside: str) -> str:
        return f"[ -e ready.{number} ]"

    def send(self, stream: Stream) -> str:
        addresses = ",".join(stream.addresses)
        return f"{self._program} send --to {addresses} {self._length} {self._common(stream)}"

    def sent(self, text: str) -> Sent:
        return _decode(text, Sent)

    def received(self, text: str) -> Received:
        return _decode(text, Received)

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

    def receive(self, stream: Stream, number: int) -> str:
        return f"{self._program} --server --one-off --json --port {stream.port}"

    def ready(self, stream: Stream, number: int, inside: str) -> str:
        return f"{inside} ss -Hltn sport = :{stream.port} | grep -q ."

    def send(self, stream: Stream) -> str:
        to = f"--client {stream.addresses[0]} --port {stream.port}"
        how = f"--parallel {stream.connections} --time {self._seconds:.0f} --json"
        return f"{self._program} {to} {how}"

    def sent(self, text: str) -> Sent:
        found = _decode(text, _Iperf)
        total = found.end.sum_sent
        return Sent(
            verified=not found.error,
            duration_s=total.seconds,
            bytes=total.bytes,
            counters={"TcpRetransSegs": total.retransmits},
            error=found.error,
        )

    def received(self, text: str) -> Received:
        found = _decode(text, _Iperf)
        total = found.end.sum_received
        return Received(
            verified=not found.error,
            duration_s=total.seconds,
            bytes=total.bytes,
            error=found.error,
        )


def _decode(text: str, kind: type[_Printed]) -> _Printed:
    try:
        return msgspec.json.decode(text.strip() or b"{}", type=kind)
    except msgspec.DecodeError as error:
        raise ProgramError(f"no readable result was printed: {error}") from None
