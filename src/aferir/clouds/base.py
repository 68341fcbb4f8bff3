"""The Protocol of clouds: whatever gives out servers that answer over HTTP.

Terms are those of Dutra 2015, chapter 5: TaR = TeF + TcI + TiI, the time to allocate a resource,
and TlR, the time to release it.
"""

from __future__ import annotations

import http.client
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from aferir.errors import ProgramError
from aferir.linux import wait
from aferir.model.finding import Finding

PhaseName = Literal["TeF", "TcI", "TiI"]
_POLL_S = 0.02


class Phase(msgspec.Struct, frozen=True, kw_only=True):
    """One part of an allocation, and how well it is known."""

    name: PhaseName
    seconds: float | None
    """None: this cloud does not let it be observed."""
    source: str
    """Whose events begin and end it."""
    resolution_s: float


class Template(msgspec.Struct, frozen=True, kw_only=True):
    """What is in the image beyond the userland, and what runs in an instance of it."""

    files: dict[str, Path] = {}
    """Absolute path in the image to file on the host."""
    start: str
    """Line for a shell, once the network is up; it must not wait for the service to end."""
    probe: str
    """Path below the server's URL that answers 200 when it serves."""
    port: int = 80


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """An instance that serves."""

    name: str
    address: str
    url: str
    """Address of the template's probe."""
    phases: tuple[Phase, ...]
    total_s: float
    """TaR, from the request until the first HTTP 200."""


class Cloud(Protocol):
    """One provider. Calls block, and may come from several threads at once."""

    provider: str

    def check(self) -> list[Finding]:
        """What this machine lacks for it; changes nothing."""
        ...

    def create(self) -> Server:
        """Make an instance and wait until it serves. Errors: AferirError, and nothing is left."""
        ...

    def delete(self, name: str) -> float:
        """Give it back; one that does not exist is fine. Errors: AferirError, OSError.

        Seconds until it was gone (TlR), without those that were spent to make sure of it.
        """
        ...

    def delete_all(self) -> None:
        """Give back whatever of ours there is."""
        ...

    def sent_bytes(self) -> int:
        """What all instances together have sent, ever; 0 where it cannot be observed."""
        ...


def bracketed(host: str) -> str:
    """A host as URLs have it (RFC 3986, 3.2.2)."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def serves(address: str, port: int, path: str, *, limit_s: float = 1.0) -> bool:
    """Whether an HTTP server answers 200 for `path` within the limit.

    It is asked for the head alone, and for all of it where it does not know that.
    """
    for method in ("HEAD", "GET"):
        connection = http.client.HTTPConnection(address, port, timeout=limit_s)
        try:
            connection.connect()
        except OSError:
            return False
        try:
            connection.request(method, path)
            if connection.getresponse().status == http.HTTPStatus.OK:
                return True
        except (OSError, http.client.HTTPException):
            continue
        finally:
            connection.close()
    return False


def await_service(address: str, port: int, path: str, limit_s: float) -> None:
    """Wait for the first 200. Errors: ProgramError where it does not come in time."""
    # Short attempts: a request to a host that is not there yet would wait a second for ARP.
    if not wait.until(
        lambda: serves(address, port, path, limit_s=0.25), wait.after(limit_s), period_s=_POLL_S
    ):
        raise ProgramError(
            f"http://{bracketed(address)}:{port}{path} did not answer within {limit_s:g} s",
            remedy="look at what the instance's service says",
        )
