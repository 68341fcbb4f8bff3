"""Parses URLs of HTTP, memcached and Redis, and fetches documents for sensors."""

from __future__ import annotations

import http.client
import socket
import zlib
from urllib.parse import urljoin, urlsplit

import msgspec

from aferir.errors import UsageError

MOST_BYTES = 16 << 20
"""Number of bytes after which a response is truncated."""
STORES = ("memcached", "redis")
"""Schemes of URLs that contain keys of a store instead of a path."""
_LONGEST_KEY = 250
_HTTP_PORT = 80
REDIRECTS = (301, 302, 303, 307, 308)
_HEADERS = {"Accept": "text/plain", "User-Agent": "aferir"}


class Address(msgspec.Struct, frozen=True):
    """Host, port and path of a URL."""

    host: str
    port: int
    path: str


class Question(msgspec.Struct, frozen=True):
    """A URL whose host is a numeric address, and the host's name as it was written."""

    url: str
    host: str
    addresses: tuple[str, ...] = ()
    """All addresses of the host; that of the URL is the first."""


def question(url: str) -> Question:
    """Request for `http://HOST:PORT/PATH` or `memcached://HOST:PORT/KEY,KEY` (`redis://`).

    Errors: UsageError if the URL is invalid, or the host unknown.
    """
    scheme, _, rest = url.partition(":")
    stored = scheme in STORES
    address = parse_url(f"http:{rest}" if stored else url)
    if stored and not all(0 < len(key) <= _LONGEST_KEY for key in address.path[1:].split(",")):
        raise UsageError(f"{url!r} names no key", remedy=f"{scheme}://HOST:PORT/KEY,KEY")
    if "%" in address.host:
        raise UsageError(
            f"{address.host} has a zone, which the probe cannot pass on",
            remedy="name another address of the host; prometheus: takes one with a zone",
        )
    addresses = _addresses(address)
    where = f"{_bracketed(addresses[0])}:{address.port}"
    name = _bracketed(address.host)
    if address.port != _HTTP_PORT:  # some servers accept their name only without port 80
        name = f"{name}:{address.port}"
    return Question(f"{scheme if stored else 'http'}://{where}{address.path}", name, addresses)


def parse_url(url: str) -> Address:
    """Parts of `http://HOST[:PORT]/PATH`. Errors: UsageError if the URL is anything else."""
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
    host = parts.hostname.replace("%25", "%", 1)  # before the zone of an address (RFC 6874)
    return Address(host, port or _HTTP_PORT, path)


def redirected(address: Address, onward: str) -> Address:
    """Target of a redirect by its `Location`. Errors: UsageError if it is not an HTTP URL."""
    here = f"http://{_bracketed(address.host)}:{address.port}{address.path}"
    try:
        return parse_url(urljoin(here, onward))
    except ValueError as error:
        raise UsageError(f"{here} redirects to {onward[:80]!r}: {error}") from None


def fetch(address: Address, timeout_s: float) -> tuple[str, str]:
    """Return the response's text and "", or, if it is a redirect, "" and its target.

    Errors: OSError, http.client.HTTPException; also if the response was truncated.
    """
    connection = http.client.HTTPConnection(address.host, address.port, timeout=timeout_s)
    try:
        connection.request("GET", address.path, headers=_HEADERS)
        answer = connection.getresponse()
        if answer.status in REDIRECTS and (onward := answer.headers.get("Location")):
            return "", onward
        if answer.status != http.client.OK:
            raise http.client.HTTPException(f"status {answer.status}")
        body = answer.read(MOST_BYTES)
        packed = "Content-Encoding" in answer.headers
        ends = answer.chunked or answer.length is not None or packed or body[-1:] in (b"", b"\n")
        if answer.length or not ends:
            raise http.client.HTTPException(f"the answer was cut off after {len(body)} bytes")
        return _decoded(body, answer.headers.get("Content-Encoding", "")), ""
    finally:
        connection.close()


def _decoded(body: bytes, encoding: str) -> str:
    """Text of a body, even if a proxy compressed it without being asked. Errors: HTTPException."""
    if encoding.lower() in ("gzip", "x-gzip"):
        try:
            body = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(body, MOST_BYTES)
        except zlib.error as error:
            raise http.client.HTTPException(f"the answer's gzip is broken: {error}") from None
    elif encoding.lower() not in ("", "identity"):
        raise http.client.HTTPException(f"the answer is encoded as {encoding}")
    return body.decode("utf-8", "replace")


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _addresses(address: Address) -> tuple[str, ...]:
    """Addresses in the system's order (RFC 6724). Errors: UsageError if the name is unknown."""
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UsageError(f"{address.host}: {error}", remedy="name a host that exists") from None
    numeric = dict.fromkeys(str(one[4][0]) for one in found)
    return tuple(one for one in numeric if "%" not in one) or tuple(numeric)
