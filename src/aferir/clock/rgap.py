"""One time for a cluster, with a bound of its error: librgap for Python.

    from aferir.clock import rgap

    with rgap.Server(key, address="10.0.0.1"):                 # on the reference node
        ...
    clock = rgap.GlobalClock.synchronise("10.0.0.1", key=key)  # everywhere else
    time_ns, bound_ns = clock.now()

Guarantees, security, and what breaks them: docs/reference/clock.md (Dutra 2015, section 6.2).
"""

from __future__ import annotations

from types import TracebackType
from typing import Literal, Self

import msgspec

from aferir.clock.native import RGAP_REMEDIES, failures_as_errors

from aferir.clock import _native  # isort: skip - `native` says what to do where it is missing

PORT = 3617
"""Default UDP port."""


class ClockInfo(msgspec.Struct, frozen=True, kw_only=True):
    """State of a global clock; `struct rgap_facts`."""

    last_status: int
    """Status of the last exchange: 0, or an `enum rgap_status`."""
    looks: int
    """Number of exchanges that the present time rests on: 1 (offset alone) or 2 (rate too)."""
    level: int
    """Distance from the reference node: 1 directly below it."""
    timeline: int
    offset_ns: int
    """Global minus local time at the last exchange, in ns."""
    rate_ppm: float
    """Rate of global against local time in ppm; 0 while not distinguishable from 0."""
    rate_doubt_ppm: float
    half_width_ns: int
    """Largest error of the offset at the last exchange in ns: half the width of its interval."""
    min_rtt_ns: int
    spread_ns: float
    exchanges: int
    kernel_stamped: int
    duration_ns: int
    lost: int
    malformed: int
    foreign: int
    unexpected: int


class ServerInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Statistics of a server; `struct rgap_server_facts`."""

    port: int
    timeline: int
    answered: int
    malformed: int
    foreign: int
    """Packets with another key, or with a cookie that is not ours or expired."""
    replayed: int
    busy: int
    """Number of new sessions that were refused because the server had too many."""

    @property
    def dropped(self) -> int:
        """Number of datagrams without an answer."""
        return self.malformed + self.foreign + self.replayed + self.busy


class GlobalClock(_native.GlobalClock):
    """The time of a reference node, read here; safe to use from any thread.

    `now()` returns (time_ns, bound_ns): the reference's time and the largest error. `at` does the
    same for a reading of `rvec.now_ns`. Neither is a system call.
    """

    @classmethod
    def synchronise(
        cls,
        address: str,
        port: int = PORT,
        *,
        key: bytes,
        deadline_s: float = 2.0,
        background: bool = True,
    ) -> Self:
        """Synchronise with the server once, in about 1 ms.

        With `background` a thread synchronises a second time 1 s later, which gives the rate;
        otherwise `poll` does so when it is called. Errors: ClockError.
        """
        with failures_as_errors(f"{address} port {port}", RGAP_REMEDIES):
            return cls(address, port, key, deadline_s, background)

    def look(self) -> None:
        """Synchronise again now; the longer ago the first time was, the better the rate.

        Errors: ClockError; the clock continues as before.
        """
        with failures_as_errors("another look at the server", RGAP_REMEDIES):
            super().look()

    def poll(self) -> None:
        """Synchronise the second time if it is due, else do nothing. Errors: as `look`."""
        with failures_as_errors("the second look at the server", RGAP_REMEDIES):
            super().poll()

    def info(self) -> ClockInfo:
        """Return the present state of the clock."""
        return msgspec.convert(self.facts(), ClockInfo)


class Server(_native.Server):
    """Serves this process's clock, or a global one to the next level of a tree, in a thread.

    `address` None: all addresses of this machine; `port` 0: any free one (`info().port`). The
    served time begins at the system clock's present time (`origin` "unix") and is never set or
    slewed afterwards, or is `rvec.now_ns` itself ("process"). Errors: ClockError.
    """

    def __init__(
        self,
        key: bytes,
        *,
        address: str | None = "127.0.0.1",
        port: int = PORT,
        upstream: GlobalClock | None = None,
        origin: Literal["unix", "process"] = "unix",
    ) -> None:
        with failures_as_errors(
            f"serving at {address or 'any address'} port {port}", RGAP_REMEDIES
        ):
            super().__init__(address, port, key, upstream, origin == "unix")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def info(self) -> ServerInfo:
        """Statistics of answered and dropped requests. Errors: ValueError once it is stopped."""
        facts = self.facts()
        if not facts:
            raise ValueError("the server is stopped")
        return msgspec.convert(facts, ServerInfo)
