"""The subset of HTTP/1.1 that Front supports (RFC 9112): one small request per connection."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import parse_qsl, urlsplit

import msgspec

MOST_HEAD_BYTES = 8192
_METHODS = ("GET", "HEAD", "DELETE", "POST")


def url(address: str, port: int) -> str:
    """URL of the root of a server at a numeric address."""
    return f"http://[{address}]:{port}/" if ":" in address else f"http://{address}:{port}/"


class BadRequestError(Exception):
    """A request that is malformed or not supported; `status` is the response's."""

    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(status.phrase)
        self.status = status


class Request(msgspec.Struct, frozen=True):
    """One request; names of headers are in lower case."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]


def parse(head: bytes) -> Request:
    """Parse the head of a request, without the empty line at its end.

    Errors: BadRequestError if it is malformed or not supported.
    """
    try:
        first, *lines = head.decode("ascii").split("\r\n")
    except UnicodeDecodeError:
        raise BadRequestError(HTTPStatus.BAD_REQUEST) from None
    words = first.split(" ")
    if len(words) != 3 or words[2] not in ("HTTP/1.1", "HTTP/1.0") or words[1][:1] != "/":
        raise BadRequestError(HTTPStatus.BAD_REQUEST)
    if words[0] not in _METHODS:
        raise BadRequestError(HTTPStatus.NOT_IMPLEMENTED)
    headers = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            raise BadRequestError(HTTPStatus.BAD_REQUEST)
        headers[name.lower()] = value.strip()
    try:
        target = urlsplit("http://front" + words[1])
        query = dict(parse_qsl(target.query, max_num_fields=16))
    except ValueError:
        raise BadRequestError(HTTPStatus.BAD_REQUEST) from None
    return Request(words[0], target.path, query, headers)


async def read(reader: asyncio.StreamReader, limit_s: float) -> Request:
    """Read the next request; the reader's limit must be `MOST_HEAD_BYTES`.

    Errors: BadRequestError; TimeoutError if the head takes longer than `limit_s`;
    asyncio.IncompleteReadError or OSError if the client closes the connection before it is
    complete.
    """
    try:
        async with asyncio.timeout(limit_s):
            head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError:
        raise BadRequestError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE) from None
    return parse(head[:-4])


def answer(
    status: HTTPStatus,
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
    kind: str = "text/plain",
) -> bytes:
    """A complete response, after which the connection is closed."""
    lines = [f"HTTP/1.1 {status.value} {status.phrase}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    if body:
        lines += [f"Content-Type: {kind}; charset=utf-8"]
    lines += [f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode("ascii") + body
