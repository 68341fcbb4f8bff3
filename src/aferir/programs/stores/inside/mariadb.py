"""A temporary MariaDB server with its own data, reachable only by a Unix socket."""

from __future__ import annotations

import os
import socket
import time
from dataclasses import dataclass
from pathlib import Path

from aferir.programs.stores.inside.cpu import CpuTime, of_ended, of_running
from aferir.programs.stores.inside.outcome import FailedError
from aferir.programs.stores.inside.workplace import Child, Workplace

SOCKET = "data/socket"
"""Path relative to the run's folder, as socket paths are limited to 108 bytes (unix(7))."""
_START_LIMIT_S = 900.0
"""Time limit in s of the server's start, which takes minutes in an emulated guest."""
_LOG = "--innodb-log-file-size=32M"


def start(place: Workplace, *, buffer_bytes: int, connections: int) -> Child:
    """Create an empty database and start its server. Errors: FailedError.

    Its reads and writes are synchronous system calls, so that the kernel counts them for the
    process (proc(5), /proc/PID/io).
    """
    own = ["--user=root"] if os.geteuid() == 0 else []
    data = f"--datadir={place.folder / 'data'}"
    (place.folder / "data").mkdir()
    (place.folder / "temporary").mkdir()
    place.run(
        [
            *("mariadb-install-db", "--no-defaults", *own, data, _LOG, "--skip-test-db"),
            *("--auth-root-authentication-method=normal", "--force"),  # even without a host name
        ]
    )
    server = place.start(
        [
            *("mariadbd", "--no-defaults", *own, data, _LOG, "--skip-networking"),
            *("--socket=socket", "--pid-file=pid", "--skip-log-bin", "--skip-name-resolve"),
            f"--tmpdir={place.folder / 'temporary'}",
            f"--innodb-buffer-pool-size={buffer_bytes}",
            f"--max-connections={connections + 8}",
            *("--innodb-use-native-aio=0", "--innodb-flush-log-at-trx-commit=1"),
        ]
    )
    _await(server, place.folder)
    return server


@dataclass(frozen=True)
class Account:
    """Bytes that a server has read and written so far, and CPU time of it and its clients."""

    read: int
    """Bytes read by the server's system calls, from cache or device."""
    written: int
    cpu: CpuTime
    """CPU time of the server, and of its clients that have ended."""

    def since(self, before: Account) -> Account:
        """Difference from an earlier account."""
        read, written = self.read - before.read, self.written - before.written
        return Account(read, written, self.cpu - before.cpu)


def account(server: Child) -> Account:
    """The account of a running server (proc(5), /proc/PID/io)."""
    text = Path(f"/proc/{server.pid}/io").read_text(encoding="ascii")
    counts = dict(line.split(": ") for line in text.splitlines())
    cpu = of_running(server.pid) + of_ended()
    return Account(int(counts["rchar"]), int(counts["wchar"]), cpu)


def _await(server: Child, folder: Path) -> None:
    os.chdir(folder)
    deadline = time.monotonic() + _START_LIMIT_S
    while time.monotonic() < deadline:
        server.ensure_alive()
        with socket.socket(socket.AF_UNIX) as client:
            if client.connect_ex(SOCKET) == 0:
                return
        time.sleep(0.02)
    raise FailedError(f"{server.name} did not answer within {_START_LIMIT_S:g} s")
