"""Front's door: what clients and administrators say over HTTP, and what they are answered.

A client asks `GET /` and is answered when its place is known: 302 to its Node, with the path by
which it leaves in `Aferir-Leave`, or 503. It leaves by `DELETE` of that path, which nobody else
can guess. `GET /status` and `GET /live` are for whoever has the token.
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
    """What clients and the environment are given; seconds."""

    head_s: float = 10.0
    """Time for a client to send its request, or to take the answer."""
    most_connections: int = 20_000
    allocation_s: float = 300.0
    """Then an allocation counts as failed; what it still makes is given back."""
    stay_s: float = 86_400.0
    """A client that has not left by then never will, and has failed."""
    watch_s: float = 1.0
    """Between two looks at all Nodes."""


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What a service can tell about itself."""

    books: dict[str, int]
    events: dict[str, int]
    clients: int
    waiting: int
    nodes: int
    pending: int
    sent_bytes: int
    now_s: float
    """Since the start."""


class Inside(Protocol):
    """The service behind the door."""

    def receive(self) -> tuple[int, asyncio.Future[Action]]:
        """A new client, and what will become of it."""
        ...

    def answered(self, client: int) -> None:
        """Nobody waits any more for what `receive` gave."""
        ...

    def depart(self, client: int, outcome: Outcome) -> None:
        """The client goes; one that is not here is fine."""
        ...

    def url(self, node: int) -> str | None:
        """Address of the video there; None: the Node is gone."""
        ...

    def seen(self) -> Seen:
        """The state of this moment."""
        ...


class Door:
    """One; everything happens in one event loop."""

    def __init__(self, inside: Inside, limits: Limits) -> None:
        self.token = secrets.token_urlsafe(24)
        """Token of whoever may look inside."""
        self.closed = False
        """Whether everybody is turned away."""
        self._inside = inside
        self._limits = limits
        self._tokens: dict[str, int] = {}
        self._token_of: dict[int, str] = {}
        self._connections = 0

    def forget(self, client: int) -> None:
        """It can no longer leave by itself."""
        self._tokens.pop(self._token_of.pop(client, ""), None)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, whatever comes over it."""
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
        """Wait for a place, no longer than the client does."""
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
        """Status and live page, for the token as bearer (RFC 6750) or in the address."""
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
    """Read until the client closes its side; what it sends before is thrown away."""
    with contextlib.suppress(OSError):
        while await reader.read(4096):
            pass
