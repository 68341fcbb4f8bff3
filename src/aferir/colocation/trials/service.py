"""What the trials need to know of a service that runs."""

from __future__ import annotations

import socket

import msgspec


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """A service under way."""

    pid: int
    """Of the process that all of the service descends from."""
    latency: str
    """Where its latencies are learnt, as `aferir colocate --latency` has it."""
    threads: tuple[str, ...] = ()
    """Names of the critical threads, as `--threads` has them."""
    java: tuple[str, ...] = ()
    targets: tuple[tuple[float, str], ...]
    """Weight and address of each kind of request."""


def free_port() -> int:
    """A port of the loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
