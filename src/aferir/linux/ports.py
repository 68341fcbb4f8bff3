"""Reserves TCP ports for servers that have not started yet."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def reserved() -> Iterator[int]:
    """Reserve a free TCP port (on all IPv4 addresses) that the kernel assigns to nobody meanwhile.

    A socket of ours is bound to it, so the kernel never chooses it for another program. A server
    that sets SO_REUSEADDR, as servers do, may listen on it all the same, since ours has that option
    too and does not listen (ip(7); inet_bind_conflict in net/ipv4/inet_connection_sock.c).
    """
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("", 0))
        yield held.getsockname()[1]
