"""Description of a running service for the trials, and helpers to start one."""

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
"""User of search engines and memcached, which refuse to run as root."""
_STARTING_S = 120.0


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """A running service."""

    pid: int
    """ID of the process from which all of the service's processes descend."""
    latency: str
    """Source of its latencies, as for `aferir colocate --latency`."""
    threads: tuple[str, ...] = ()
    """Names of its critical threads, as for `--threads`."""
    java: tuple[str, ...] = ()
    targets: tuple[tuple[float, str], ...]
    """Weight and URL of each kind of request, by the loopback address."""
    text_bytes: int = 0
    """Bytes of text that the service searches, before indexing."""


def as_user() -> tuple[str, ...]:
    """Prefix for a command that root runs as `USER`, and that still ends with its parent.

    Changing the user would otherwise clear the parent-death signal (prctl(2), PR_SET_PDEATHSIG).
    """
    user = pwd.getpwnam(USER)
    who = (f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups")
    return ("setpriv", *who, "--pdeathsig", "KILL")


def wait_for(
    child: subprocess.Popen[str], port: int, said: Callable[[], str], within_s: float = _STARTING_S
) -> None:
    """Wait until the service listens. `said`: its error output. Errors: ProgramError."""
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
