"""The Protocol of clouds: providers of servers that answer HTTP requests.

Terms are those of Dutra 2015, chapter 5. TaR, the time to allocate a resource, is the sum of TeF
(until a place is chosen), TcI (until the image is copied there) and TiI (until the service
answers). TlR is the time to release it.
"""

from __future__ import annotations

import http.client
import socket
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from aferir.errors import ProgramError
from aferir.linux import wait
from aferir.model.cloud import Context
from aferir.model.finding import Finding

PhaseName = Literal["TeF", "TcI", "TiI"]
_POLL_S = 0.02
_SSH = b"SSH-"
_GREETING_S = 10.0


class Phase(msgspec.Struct, frozen=True, kw_only=True):
    """One phase of an allocation, and how well it is known."""

    name: PhaseName
    seconds: float | None
    """Duration; None if this cloud does not let it be observed."""
    source: str
    """The events that begin and end the phase, and who reports them."""
    resolution_s: float


class Template(msgspec.Struct, frozen=True, kw_only=True):
    """Contents of an image beyond the userland, and the service that an instance of it runs."""

    files: dict[str, Path] = {}
    """Files to put into the image: absolute path there, and the file on the host."""
    packages: tuple[str, ...] = ()
    """Debian packages beyond the userland's own."""
    context: Context = "image"
    user_data: str = ""
    """What instances are told, if `context` takes user data; then `start` is not run."""
    start: str
    """Shell command to run once the network is up; it must not wait for the service to end."""
    probe: str
    """Path below the server's URL that answers 200 when the service is ready; empty: the service is
    an SSH server.
    """
    port: int = 80


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """An instance whose service is ready."""

    name: str
    address: str
    url: str
    """URL of the path `probe` of the template."""
    phases: tuple[Phase, ...]
    total_s: float
    """TaR in seconds, from the request until the first HTTP 200."""


class Cloud(Protocol):
    """One cloud. Calls block, and may come from several threads at once."""

    provider: str

    def check(self) -> list[Finding]:
        """Findings on what this machine lacks for the cloud; changes nothing."""
        ...

    def create(self) -> Server:
        """Create an instance and wait until its service is ready.

        Errors: AferirError; nothing is left then.
        """
        ...

    def delete(self, name: str) -> float:
        """Release an instance; one that does not exist is ignored. Errors: AferirError, OSError.

        Returns the seconds until it was gone (TlR), without the time spent on confirming that.
        """
        ...

    def delete_all(self) -> None:
        """Release all instances that this object has created."""
        ...

    def sent_bytes(self) -> int:
        """Bytes that all instances together have sent since the start; 0 if not observable."""
        ...


def bracketed(host: str) -> str:
    """A host as it is written in URLs (RFC 3986, 3.2.2)."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def greets(address: str, port: int, *, limit_s: float = 1.0) -> bool:
    """Whether an SSH server sends its version (RFC 4253, 4.2).

    `limit_s` is the limit for the connection. The server first starts a process for it, which takes
    longer than that in an emulated guest, and began anew with every attempt.
    """
    try:
        with socket.create_connection((address, port), timeout=limit_s) as connection:
            connection.settimeout(max(limit_s, _GREETING_S))
            return connection.recv(len(_SSH)) == _SSH
    except OSError:
        return False


def serves(address: str, port: int, path: str, *, limit_s: float = 1.0) -> bool:
    """Whether an HTTP server answers 200 for `path` within the limit in seconds.

    Sends HEAD, and GET if the server does not answer 200 to HEAD. An empty path stands for an SSH
    server.
    """
    if not path:
        return greets(address, port, limit_s=limit_s)
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
    """Wait for the first 200, or the SSH server's first line.

    Errors: ProgramError if it does not come within the limit.
    """
    # Short attempts, as a request to a host that does not exist yet would wait a second for ARP.
    if not wait.until(
        lambda: serves(address, port, path, limit_s=0.25), wait.after(limit_s), period_s=_POLL_S
    ):
        what = f"http://{bracketed(address)}:{port}{path}" if path else f"ssh at {address}:{port}"
        raise ProgramError(
            f"{what} did not answer within {limit_s:g} s",
            remedy="look at what the instance's service says",
        )
