"""Just enough HTTP/1.1, and of memcached, for sensors: one request on a connection of its own."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import msgspec

from aferir.errors import UsageError

MOST_BYTES = 16 << 20
"""An answer that is longer is cut there."""
_CACHE = "memcached:"
_CACHE_STATUS = {
    b"VALUE ": 200,
    b"END\r\n": 404,
    b"ERROR\r\n": 500,
    b"CLIENT_ERROR ": 500,
    b"SERVER_ERROR ": 500,
}


class Address(msgspec.Struct, frozen=True):
    """Where a URL points to."""

    host: str
    port: int
    path: str


class Question(msgspec.Struct, frozen=True):
    """What is sent to where; `status` reads the beginning of the answer."""

    address: Address
    request: bytes
    status: Callable[[bytes], int | None]


def question(url: str) -> Question:
    """Of `http://HOST:PORT/PATH` or `memcached://HOST:PORT/KEY,KEY`. Errors: UsageError."""
    if not url.startswith(_CACHE):
        address = parse_url(url)
        return Question(address, request(address), status_of)
    address = parse_url(url.replace(_CACHE, "http:", 1))
    keys = address.path[1:].split(",")
    if not all(keys):
        raise UsageError(f"{url!r} names no key", remedy="memcached://HOST:PORT/KEY,KEY")
    # After `quit` it closes the connection, as HTTP's servers do when they are told to.
    return Question(address, f"get {' '.join(keys)}\r\nquit\r\n".encode(), cache_status)


def parse_url(url: str) -> Address:
    """Errors: UsageError unless it is `http://HOST[:PORT]/PATH`."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme != "http" or not parts.hostname or any(byte <= " " for byte in url):
        raise UsageError(
            f"{url!r} is no http URL", remedy="http://HOST:PORT/PATH; https is not spoken"
        )
    path = parts.path or "/"
    return Address(parts.hostname, port or 80, f"{path}?{parts.query}" if parts.query else path)


def request(address: Address) -> bytes:
    """A GET after which the server closes the connection (RFC 9112)."""
    host = f"[{address.host}]" if ":" in address.host else address.host
    head = f"GET {address.path} HTTP/1.1\r\nHost: {host}:{address.port}\r\n"
    return f"{head}User-Agent: aferir\r\nConnection: close\r\n\r\n".encode()


def status_of(answer: bytes) -> int | None:
    """Status of an answer whose first line has come; None where it is no HTTP/1.x answer."""
    words = answer[:64].split(b" ", 2)
    known = len(words) > 2 and words[0].startswith(b"HTTP/1.") and words[1].isdigit()
    return int(words[1]) if known and len(words[1]) == 3 else None


def cache_status(answer: bytes) -> int | None:
    """As HTTP's: 200 a value, 404 none, 500 an error of memcached; None: something else."""
    for beginning, status in _CACHE_STATUS.items():
        if answer.startswith(beginning):
            return status
    return None


def resolve(address: Address) -> tuple[socket.AddressFamily, tuple[Any, ...]]:
    """Family and address to connect to. Errors: UsageError where the name is not known."""
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UsageError(f"{address.host}: {error}", remedy="name a host that exists") from None
    return found[0][0], found[0][4]
