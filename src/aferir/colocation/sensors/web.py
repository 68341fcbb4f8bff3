"""URLs of HTTP and of memcached, for sensors."""

from __future__ import annotations

import http.client
import socket
from urllib.parse import urljoin, urlsplit

import msgspec

from aferir.errors import UsageError

MOST_BYTES = 16 << 20
"""An answer that is longer is cut there."""
_CACHE = "memcached:"
_LONGEST_KEY = 250
_HTTP_PORT = 80
_REDIRECTS = (301, 302, 303, 307, 308)
_HEADERS = {"Accept": "text/plain", "User-Agent": "aferir"}


class Address(msgspec.Struct, frozen=True):
    """Where a URL points to."""

    host: str
    port: int
    path: str


class Question(msgspec.Struct, frozen=True):
    """A URL whose host is a numeric address, and the host's name as it was written."""

    url: str
    host: str
    addresses: tuple[str, ...] = ()
    """All that the host has, that of the URL first."""


def question(url: str) -> Question:
    """What is asked of `http://HOST:PORT/PATH` or `memcached://HOST:PORT/KEY,KEY`.

    Errors: UsageError where it is none, or the host is not known.
    """
    cached = url.startswith(_CACHE)
    address = parse_url(url.replace(_CACHE, "http:", 1) if cached else url)
    if cached and not all(0 < len(key) <= _LONGEST_KEY for key in address.path[1:].split(",")):
        raise UsageError(f"{url!r} names no key", remedy="memcached://HOST:PORT/KEY,KEY")
    scheme = "memcached" if cached else "http"
    addresses = _addresses(address)
    where = f"{_bracketed(addresses[0])}:{address.port}"
    name = _bracketed(address.host)
    if address.port != _HTTP_PORT:  # some servers know themselves without it alone
        name = f"{name}:{address.port}"
    return Question(f"{scheme}://{where}{address.path}", name, addresses)


def parse_url(url: str) -> Address:
    """Errors: UsageError unless it is `http://HOST[:PORT]/PATH`."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme != "http" or not parts.hostname or not all("!" <= byte <= "~" for byte in url):
        raise UsageError(
            f"{url!r} is no http URL", remedy="http://HOST:PORT/PATH; https is not spoken"
        )
    path = parts.path or "/"
    path = f"{path}?{parts.query}" if parts.query else path
    return Address(parts.hostname, port or _HTTP_PORT, path)


def redirected(address: Address, onward: str) -> Address:
    """Where a `Location` leads to from there. Errors: UsageError where it is no http URL."""
    return parse_url(
        urljoin(f"http://{_bracketed(address.host)}:{address.port}{address.path}", onward)
    )


def fetch(address: Address, timeout_s: float) -> tuple[str, str]:
    """The whole text there, or else where it has gone to.

    Errors: OSError, http.client.HTTPException; also where the answer was cut off.
    """
    connection = http.client.HTTPConnection(address.host, address.port, timeout=timeout_s)
    try:
        connection.request("GET", address.path, headers=_HEADERS)
        answer = connection.getresponse()
        if answer.status in _REDIRECTS and (onward := answer.headers.get("Location")):
            return "", onward
        if answer.status != http.client.OK:
            raise http.client.HTTPException(f"status {answer.status}")
        body = answer.read(MOST_BYTES)
        ends = answer.chunked or answer.length is not None or body[-1:] in (b"", b"\n")
        if answer.length or not ends:
            raise http.client.HTTPException(f"the answer was cut off after {len(body)} bytes")
        return body.decode("utf-8", "replace"), ""
    finally:
        connection.close()


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _addresses(address: Address) -> tuple[str, ...]:
    """In the system's order (RFC 6724). Errors: UsageError where the name is not known."""
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UsageError(f"{address.host}: {error}", remedy="name a host that exists") from None
    numeric = dict.fromkeys(str(one[4][0]) for one in found)
    return tuple(one for one in numeric if "%" not in one) or tuple(numeric)
