"""Handles the HTTP requests of Front's clients and administrators.

A client sends `GET /` and is answered when it has been placed: 302 to its Node, with the path by
which it leaves in `Aferir-Leave`, or 503. It leaves by `DELETE` of that path, which nobody else can
guess. `GET /status` and `GET /live` need the administrator's token.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import secrets
from http import HTTPStatus
from typing import Any, Protocol, get_args

import msgspec

from aferir.elastic import http, page
from aferir.elastic.front import Action, Outcome, Redirect

_OUTCOMES: tuple[str, ...] = get_args(Outcome)


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Timeouts in seconds, and the limit of connections."""

    head_s: float = 10.0
    """Time for a client to send its request, or to read the response."""
    most_connections: int = 20_000
    allocation_s: float = 300.0
    """Time after which an allocation counts as failed; an instance that it yields later is
    released."""
    stay_s: float = 86_400.0
    """Time after which a client that has not left counts as failed."""
    watch_s: float = 1.0
    """Interval between two health checks of all Nodes."""


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """State of the video service as `GET /status` returns it: counts and the time."""

    books: dict[str, int]
    events: dict[str, int]
    clients: int
    waiting: int
    nodes: int
    pending: int
    sent_bytes: int
    now_s: float
    """Seconds since the start."""


class Inside(Protocol):
    """Interface of the service whose requests a `Door` handles."""

    def receive(self) -> tuple[int, asyncio.Future[Action]]:
        """Register a new client; returns its number, and a future of where it is to be placed."""
        ...

    def answered(self, client: int) -> None:
        """Drop the future that `receive` returned for the client."""
        ...

    def depart(self, client: int, outcome: Outcome) -> None:
        """Remove a client; one that is not registered is ignored."""
        ...

    def url(self, node: int) -> str | None:
        """URL of the video on a Node; None if the Node no longer exists."""
        ...

    def seen(self) -> Seen:
        """Return the present state of the service."""
        ...


class Door:
    """Serves the HTTP connections of one service, in one event loop."""

    def __init__(self, inside: Inside, limits: Limits) -> None:
        self.token = secrets.token_urlsafe(24)
        """Token that grants access to the status and the live page."""
        self.closed = False
        """Whether all requests are refused."""
        self._inside = inside
        self._limits = limits
        self._tokens: dict[str, int] = {}
        self._token_of: dict[int, str] = {}
        self._connections = 0

    def forget(self, client: int) -> None:
        """Invalidate the path by which a client leaves."""
        self._tokens.pop(self._token_of.pop(client, ""), None)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection; errors of the client end only that connection."""
        self._connections += 1
        try:
            if self._connections > self._limits.most_connections:
                answer = http.answer(HTTPStatus.SERVICE_UNAVAILABLE)
            else:
                answer = await self._answer(reader)
            writer.write(answer)
            async with asyncio.timeout(self._limits.head_s):
                await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self._connections -= 1
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader) -> bytes:
        try:
            request = await http.read(reader, self._limits.head_s)
        except http.BadRequestError as error:
            return http.answer(error.status)
        if self.closed:
            return http.answer(HTTPStatus.SERVICE_UNAVAILABLE)
        if request.path == "/":
            return await self._place(request, reader)
        if request.path.startswith("/leave/"):
            return self._leave(request)
        if request.path in ("/status", "/live"):
            return self._look(request)
        return http.answer(HTTPStatus.NOT_FOUND)

    async def _place(self, request: http.Request, reader: asyncio.StreamReader) -> bytes:
        """Wait until the client is placed or closes its connection."""
        if request.method != "GET":
            return http.answer(HTTPStatus.METHOD_NOT_ALLOWED)
        client, placed = self._inside.receive()
        gone = asyncio.get_running_loop().create_task(_until_closed(reader))
        try:
            either: set[asyncio.Future[Any]] = {placed, gone}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not placed.done():
                self._inside.depart(client, "abandoned")
                raise ConnectionResetError
            if placed.cancelled():
                return http.answer(HTTPStatus.SERVICE_UNAVAILABLE)
            if gone.done():
                self._inside.depart(client, "abandoned")
                raise ConnectionResetError
            return self._told(client, placed.result())
        finally:
            gone.cancel()
            self._inside.answered(client)

    def _told(self, client: int, action: Action) -> bytes:
        url = self._inside.url(action.node) if isinstance(action, Redirect) else None
        if url is None:
            return http.answer(HTTPStatus.SERVICE_UNAVAILABLE)
        token = secrets.token_urlsafe(16)
        self._tokens[token] = client
        self._token_of[client] = token
        loop = asyncio.get_running_loop()
        loop.call_later(self._limits.stay_s, self._overstay, client)
        return http.answer(HTTPStatus.FOUND, {"Location": url, "Aferir-Leave": f"/leave/{token}"})

    def _overstay(self, client: int) -> None:
        self.forget(client)
        self._inside.depart(client, "failed")

    def _leave(self, request: http.Request) -> bytes:
        if request.method != "DELETE":
            return http.answer(HTTPStatus.METHOD_NOT_ALLOWED)
        outcome = request.query.get("outcome", "served")
        if outcome not in _OUTCOMES:
            return http.answer(HTTPStatus.BAD_REQUEST)
        client = self._tokens.pop(request.path.removeprefix("/leave/"), None)
        if client is None:
            return http.answer(HTTPStatus.NOT_FOUND)
        del self._token_of[client]
        self._inside.depart(client, msgspec.convert(outcome, Outcome))
        return http.answer(HTTPStatus.NO_CONTENT)

    def _look(self, request: http.Request) -> bytes:
        """Return the status or the live page if the token is in the header (RFC 6750) or query."""
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        given = given or request.query.get("token", "")
        if not hmac.compare_digest(given.encode(), self.token.encode()):
            return http.answer(HTTPStatus.FORBIDDEN)
        if request.method not in ("GET", "HEAD"):
            return http.answer(HTTPStatus.METHOD_NOT_ALLOWED)
        if request.path == "/live":
            return http.answer(HTTPStatus.OK, {}, page.LIVE, "text/html")
        body = msgspec.json.encode(self._inside.seen())
        return http.answer(HTTPStatus.OK, {"Cache-Control": "no-store"}, body, "application/json")


async def _until_closed(reader: asyncio.StreamReader) -> None:
    """Read and discard until the client closes its side of the connection."""
    with contextlib.suppress(OSError):
        while await reader.read(4096):
            pass
