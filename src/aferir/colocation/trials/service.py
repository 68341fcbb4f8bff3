"""What the trials need to know of a service that runs."""

from __future__ import annotations

import pwd
import socket
import subprocess
from collections.abc import Callable

import msgspec

from aferir.errors import ProgramError
from aferir.linux import wait

LOOPBACK = "127.0.0.1"
USER = "nobody"
"""Search engines and memcached refuse to run as root."""
_STARTING_S = 30.0


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """A service under way."""

    pid: int
    """Number of the process that all of the service descends from."""
    latency: str
    """Where its latencies are learnt, as `aferir colocate --latency` has it."""
    threads: tuple[str, ...] = ()
    """Names of the critical threads, as `--threads` has them."""
    java: tuple[str, ...] = ()
    targets: tuple[tuple[float, str], ...]
    """Weight and address of each kind of request."""
    text_bytes: int = 0
    """Bytes of what is searched, before it was indexed."""


def as_user() -> tuple[str, ...]:
    """Before a command, as root: it runs as `USER`, and ends with who started it all the same.

    Becoming somebody else by itself would take that away (prctl(2), PR_SET_PDEATHSIG).
    """
    user = pwd.getpwnam(USER)
    who = (f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups")
    return ("setpriv", *who, "--pdeathsig", "KILL")


def free_port() -> int:
    """A port of the loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def wait_for(
    child: subprocess.Popen[str], port: int, said: Callable[[], str], within_s: float = _STARTING_S
) -> None:
    """Wait until it listens. `said`: what it complained of. Errors: ProgramError."""
    wait.until(
        lambda: _listens(port) or child.poll() is not None, wait.after(within_s), period_s=0.05
    )
    if not _listens(port):
        raise ProgramError(f"the service does not answer: {said().strip()[-300:]}")


def _listens(port: int) -> bool:
    try:
        socket.create_connection((LOOPBACK, port), timeout=1).close()
    except OSError:
        return False
    return True
