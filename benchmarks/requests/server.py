"""HTTP server whose responses come in 1 to 5 segments at random moments, and which stamps them.

A request arrives when the kernel has its last byte (SO_TIMESTAMPNS, socket(7)). A response ends
when its last segment is handed to send(2), which on the loopback interface delivers it. Responses
depend only on the seed and the number of the request, so that two runs have equal work.
"""

from __future__ import annotations

import contextlib
import heapq
import os
import random
import selectors
import socket
import struct
import threading
import time
from collections.abc import Iterator

import msgspec

MOST_SEGMENTS = 5
SHORTEST_S, LONGEST_S = 0.02, 0.12
"""Time of a response in s: long beside what the kernel takes to deliver it, some 0.05 ms."""
_SO_TIMESTAMPNS = 35
_READ_BYTES = 4096
_PERIOD_S = 0.05
"""Longest wait in s until the end of the server is noticed."""


class Response(msgspec.Struct, frozen=True):
    """A response that was sent."""

    arrived_s: float
    """Moment in s of CLOCK_MONOTONIC at which its request arrived."""
    ended_s: float
    """Moment in s of CLOCK_MONOTONIC at which its last segment was sent."""
    segments: int


class Segment(msgspec.Struct, frozen=True, order=True):
    """A piece of a response that is still to be sent, in the order of moments."""

    due_s: float
    request: int
    place: int
    """Number of the segment within its response."""
    connection: int
    text: bytes
    arrived_s: float
    segments: int


def segments_of(seed: int, request: int, arrived_s: float, connection: int) -> list[Segment]:
    """Draw a response: 1 to 5 segments, cut anywhere, the last one due after 20 to 120 ms."""
    draw = random.Random(f"{seed} {request}")  # noqa: S311 - not cryptography
    text = _text(draw)
    count = draw.randint(1, MOST_SEGMENTS)
    cuts = [0, *sorted(draw.sample(range(1, len(text)), count - 1)), len(text)]
    longest_s = draw.uniform(SHORTEST_S, LONGEST_S)
    after_s = [*sorted(draw.uniform(0, longest_s) for _ in range(count - 1)), longest_s]
    return [
        Segment(
            due_s=arrived_s + after_s[k],
            request=request,
            place=k,
            connection=connection,
            text=text[cuts[k] : cuts[k + 1]],
            arrived_s=arrived_s,
            segments=count,
        )
        for k in range(count)
    ]


def _text(draw: random.Random) -> bytes:
    """A response with a length, or in chunks."""
    body = b"x" * draw.randint(1, 2000)
    if draw.random() < 0.5:
        return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    chunks = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n"
    return chunks % (len(body), body)


class Server:
    """The server, in a thread of its own; use it by `serving`."""

    def __init__(self, seed: int, priority: int) -> None:
        """Listen at a free port of 127.0.0.1; `priority` of SCHED_FIFO, 0: an ordinary thread."""
        self._seed, self._priority = seed, priority
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self._open: dict[int, socket.socket] = {}
        self._read: dict[int, bytes] = {}
        self._due: list[Segment] = []
        self._selector = selectors.DefaultSelector()
        self._ends = False
        self._requests = 0
        self.responses: list[Response] = []
        self.connections = 0
        """Connections that were accepted."""
        self.problem = ""

    @property
    def port(self) -> int:
        """Port that it listens at."""
        return int(self._listening.getsockname()[1])

    def stop(self) -> None:
        """Have `serve` return within 50 ms."""
        self._ends = True

    def serve(self) -> None:
        """Serve until `stop` is called."""
        try:
            if self._priority:
                os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(self._priority))
            self._selector.register(self._listening, selectors.EVENT_READ)
            while not self._ends:
                self._turn()
        except OSError as error:
            self.problem = str(error)
        finally:
            self._selector.close()
            for one in (self._listening, *self._open.values()):
                one.close()

    def _turn(self) -> None:
        left_s = self._due[0].due_s - time.monotonic() if self._due else _PERIOD_S
        for key, _ in self._selector.select(max(0.0, min(left_s, _PERIOD_S))):
            self._accept() if key.fileobj is self._listening else self._receive(key.fd)
        while self._due and self._due[0].due_s <= time.monotonic():
            self._send(heapq.heappop(self._due))

    def _accept(self) -> None:
        accepted, _ = self._listening.accept()
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        accepted.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        self.connections += 1
        self._open[accepted.fileno()] = accepted
        self._read[accepted.fileno()] = b""
        self._selector.register(accepted, selectors.EVENT_READ)

    def _receive(self, number: int) -> None:
        try:
            data, control, _, _ = self._open[number].recvmsg(_READ_BYTES, 64)
        except OSError:
            data, control = b"", []
        if not data:
            self._selector.unregister(self._open[number])
            self._open.pop(number).close()
            return
        self._read[number] += data
        if self._read[number].endswith(b"\r\n\r\n"):
            self._read[number] = b""
            drawn = segments_of(self._seed, self._requests, _stamp(control), number)
            self._requests += 1
            for segment in drawn:
                heapq.heappush(self._due, segment)

    def _send(self, segment: Segment) -> None:
        connection = self._open.get(segment.connection)
        now_s = time.monotonic()
        if connection is None:
            return
        with contextlib.suppress(OSError):
            connection.sendall(segment.text)
        if segment.place == segment.segments - 1:
            self.responses.append(Response(segment.arrived_s, now_s, segment.segments))


def _stamp(control: list[tuple[int, int, bytes]]) -> float:
    """Moment of arrival in s of CLOCK_MONOTONIC, by the kernel's stamp in CLOCK_REALTIME."""
    now_s = time.monotonic()
    for level, kind, data in control:
        if (level, kind) == (socket.SOL_SOCKET, _SO_TIMESTAMPNS):
            seconds, nanoseconds = struct.unpack("qq", data[:16])
            age_ns = time.time_ns() - (int(seconds) * 1_000_000_000 + int(nanoseconds))
            return now_s - max(age_ns, 0) * 1e-9
    return now_s


@contextlib.contextmanager
def serving(seed: int, priority: int = 0) -> Iterator[Server]:
    """Run a server meanwhile."""
    server = Server(seed, priority)
    thread = threading.Thread(target=server.serve, name="segments", daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join()
