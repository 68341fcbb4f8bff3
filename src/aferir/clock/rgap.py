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
"""Unless told otherwise."""


class ClockInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What a global clock rests on; `struct rgap_facts`."""

    last_status: int
    """Status of the last look: 0, or an `enum rgap_status`."""
    looks: int
    """That the present time rests on: 1 (offset alone) or 2 (rate too)."""
    level: int
    """Steps from the reference node: 1 under it."""
    timeline: int
    offset_ns: int
    """Global less local time at the last look."""
    rate_ppm: float
    """Global against local time; 0 while not told from 0."""
    rate_doubt_ppm: float
    half_width_ns: int
    """Half the width of the interval that held the offset at the last look."""
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
    """What a server has done; `struct rgap_server_facts`."""

    port: int
    timeline: int
    answered: int
    malformed: int
    foreign: int
    """Packets of another key, or with a cookie that is not ours or too old."""
    replayed: int
    busy: int
    """New sessions turned away."""

    @property
    def dropped(self) -> int:
        """Datagrams that got no answer."""
        return self.malformed + self.foreign + self.replayed + self.busy


class GlobalClock(_native.GlobalClock):
    """The time of a reference node, read here; any thread may.

    `now()` gives (time_ns, bound_ns): the reference's time and what it is off by at most. `at` does
    the same for a reading of `rvec.now_ns`. Neither is a system call.
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
        """Take a first look at the server, in about a millisecond.

        With `background` a thread takes the second one a second later, which gives the rate;
        otherwise `poll` does, when it is called. Errors: ClockError.
        """
        with failures_as_errors(f"{address} port {port}", RGAP_REMEDIES):
            return cls(address, port, key, deadline_s, background)

    def look(self) -> None:
        """Look at the server again, now: the more time lies between, the better the rate.

        Errors: ClockError; the clock goes on as before.
        """
        with failures_as_errors("another look at the server", RGAP_REMEDIES):
            super().look()

    def poll(self) -> None:
        """Take the second look if it is due, else do nothing. Errors: as `look`."""
        with failures_as_errors("the second look at the server", RGAP_REMEDIES):
            super().poll()

    def info(self) -> ClockInfo:
        """Say what the clock rests on."""
        return msgspec.convert(self.facts(), ClockInfo)


class Server(_native.Server):
    """Serves this process's clock, or a global one to the next level of a tree, in a thread.

    `address` None: every one of this machine's; `port` 0: any that is free (`info().port`). The
    time that is served begins as the system's clock stands now (`origin` "unix") and is never set
    or slewed afterwards, or is `rvec.now_ns` itself ("process"). Errors: ClockError.
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
        """Say what has been answered and what dropped. Errors: ValueError once it is stopped."""
        facts = self.facts()
        if not facts:
            raise ValueError("the server is stopped")
        return msgspec.convert(facts, ServerInfo)
