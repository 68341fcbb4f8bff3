"""Ports of programs that listen on port 0, for which the kernel chooses a free port.

A free port that is looked for beforehand may be another program's by the time it is used.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

_STATES = {"tcp": "0A", "udp": "07"}
"""State of a socket that waits for others, by protocol: TCP_LISTEN, and unconnected."""


def port_of(pid: int, protocol: str = "tcp") -> int | None:
    """Port on which the process listens by IPv4; None while it has no such socket (proc(5))."""
    links = set()
    for path in Path(f"/proc/{pid}/fd").glob("*"):
        with contextlib.suppress(OSError):
            links.add(str(path.readlink()))
    table = Path(f"/proc/{pid}/net/{protocol}").read_text(encoding="ascii").splitlines()[1:]
    for fields in map(str.split, table):
        if fields[3] == _STATES[protocol] and f"socket:[{fields[9]}]" in links:
            return int(fields[1].rpartition(":")[2], 16)
    return None
