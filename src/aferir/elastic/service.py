"""Front as a service: runs the state machine with timers, allocations and connections."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import math
import socket
import time
from collections.abc import Coroutine, Sequence
from typing import Any, Protocol

import msgspec

from aferir.elastic import http
from aferir.elastic.door import Door, Limits, Seen
from aferir.elastic.front import Action, Allocate, Block, Front, Outcome, Redirect, Settings
from aferir.elastic.ledger import Ledger
from aferir.elastic.metrics import Trace
from aferir.errors import AferirError

_RELEASE_ATTEMPTS = 3


class Site(Protocol):
    """An environment that provides instances. Raises only AferirError and OSError."""

    async def allocate(self, node: int) -> str:
        """Create the instance of a Node; returns its video's URL. A failure leaves nothing."""
        ...

    async def release(self, node: int) -> None:
        """Release the instance of a Node; one that does not exist is ignored."""
        ...

    async def alive(self, node: int) -> bool:
        """Whether the instance still answers requests."""
        ...

    async def release_all(self) -> None:
        """Release all instances that an earlier run of Front has left behind."""
        ...

    def sent_bytes(self) -> int:
        """Bytes that all instances together have sent since the start."""
        ...


class Service:
    """Runs one Front, entirely in the event loop in which `start` was called."""

    def __init__(
        self, settings: Settings, site: Site, ledger: Ledger, limits: Limits | None = None
    ) -> None:
        self.allocations_s: list[float] = []
        """Duration in seconds of each successful allocation."""
        self.releases_s: list[float] = []
        self._front = Front(settings)
        self._site = site
        self._ledger = ledger
        self._limits = limits or Limits()
        self._door = Door(self, self._limits)
        self._answers: dict[int, asyncio.Future[Action]] = {}
        self._urls: dict[int, str] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._server: asyncio.Server | None = None
        self._also: asyncio.Server | None = None
        self._next_client = ledger.next_client
        self._times: list[float] = []
        self._clients: list[int] = []
        self._nodes: list[int] = []

    @property
    def token(self) -> str:
        """Token for the status and the live page."""
        return self._door.token

    async def start(
        self, address: str = "127.0.0.1", port: int = 0, also: socket.socket | None = None
    ) -> int:
        """Release what an earlier Front left, and listen; returns the port.

        `also`: another socket to listen on. Errors: OSError.
        """
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        await self._site.release_all()
        self._server = await asyncio.start_server(
            self._door.serve, address, port, limit=http.MOST_HEAD_BYTES, backlog=1024
        )
        if also is not None:
            self._also = await asyncio.start_server(
                self._door.serve, sock=also, limit=http.MOST_HEAD_BYTES
            )
        self._follow(self._front.start(self._now()))
        self._spawn(self._watch())
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Refuse waiting clients, count served ones as failed, and release every instance."""
        await self.abort()
        now = self._now()
        for client in (*self._front.waiting, *self._front.place):
            self._note("failed", client)
        nodes = (*self._front.nodes, *self._front.pending)
        await asyncio.gather(*(self._release(node) for node in nodes))
        await self._site.release_all()
        self._trace(now)

    async def abort(self) -> None:
        """Stop at once, as if killed: no outcomes are logged, and instances remain."""
        self._door.closed = True
        for server in (self._server, self._also):
            if server is not None:
                server.close()
        if self._timer is not None:
            self._timer.cancel()
        for answer in self._answers.values():
            answer.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def seen(self) -> Seen:
        """Return the present state of the service."""
        front = self._front
        return Seen(
            books=msgspec.structs.asdict(self._ledger.books()),
            events=dict(self._ledger.counts),
            clients=len(front.place),
            waiting=len(front.waiting),
            nodes=len(front.nodes),
            pending=len(front.pending),
            sent_bytes=self._site.sent_bytes(),
            now_s=self._now(),
        )

    def trace(self) -> Trace:
        """Clients and Nodes over time, since the start."""
        return Trace(
            times_s=tuple(self._times), clients=tuple(self._clients), nodes=tuple(self._nodes)
        )

    async def settled(self) -> None:
        """Wait until there are no clients, and no allocation or release is under way."""
        front = self._front
        # One task is always there: the health check.
        while front.place or front.waiting or front.pending or len(self._tasks) > 1:  # noqa: ASYNC110 - four things
            await asyncio.sleep(0.05)

    def _now(self) -> float:
        return self._loop.time() - self._began

    def _note(self, event: Any, subject: int) -> None:
        self._ledger.write(time.time(), event, subject)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _follow(self, actions: Sequence[Action]) -> None:
        """Carry out Front's actions, and set the timer for its next one."""
        now = self._now()
        for action in actions:
            if isinstance(action, Allocate):
                self._spawn(self._allocate(action.node))
            elif isinstance(action, Redirect | Block):
                if isinstance(action, Block):
                    self._note(action.outcome, action.client)
                answer = self._answers.get(action.client)
                if answer is not None and not answer.done():
                    answer.set_result(action)
            else:
                self._spawn(self._release(action.node))
        self._trace(now)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due = self._front.due()
        if due < math.inf:
            self._timer = self._loop.call_at(self._began + due, self._tick)

    def _tick(self) -> None:
        # The loop may call a rounding error early.
        self._follow(self._front.tick(max(self._now(), self._front.due())))

    def _trace(self, now: float) -> None:
        self._times.append(now)
        self._clients.append(len(self._front.place) + len(self._front.waiting))
        self._nodes.append(len(self._front.nodes))

    async def _allocate(self, node: int) -> None:
        asked = self._loop.time()
        work = asyncio.ensure_future(self._site.allocate(node))
        try:
            done, _ = await asyncio.wait({work}, timeout=self._limits.allocation_s)
        except asyncio.CancelledError:
            work.add_done_callback(functools.partial(_forget))
            raise
        if not done:
            self._note("allocation-overdue", node)
            self._spawn(self._give_back_late(work, node))
        else:
            try:
                self._urls[node] = work.result()
            except (AferirError, OSError):
                self._note("allocation-failed", node)
            else:
                self._note("allocated", node)
                self.allocations_s.append(self._loop.time() - asked)
                self._follow(self._front.ready(self._now(), node))
                return
        self._follow(self._front.allocation_failed(self._now(), node))

    async def _give_back_late(self, work: asyncio.Future[str], node: int) -> None:
        """Release an instance whose allocation succeeds after its timeout."""
        with contextlib.suppress(AferirError, OSError):
            await work
            await self._release(node)

    async def _release(self, node: int) -> None:
        asked = self._loop.time()
        self._urls.pop(node, None)
        for _ in range(_RELEASE_ATTEMPTS):
            try:
                await self._site.release(node)
            except (AferirError, OSError):
                self._note("release-failed", node)
            else:
                self._note("released", node)
                self.releases_s.append(self._loop.time() - asked)
                return

    async def _watch(self) -> None:
        """Check every Node's health regularly; clients of a dead one count as failed."""
        while True:
            await asyncio.sleep(self._limits.watch_s)
            nodes = list(self._front.nodes)
            alive = await asyncio.gather(*(self._site.alive(node) for node in nodes))
            for node, lives in zip(nodes, alive, strict=True):
                if not lives and node in self._front.nodes:
                    self._note("node-lost", node)
                    for client in self._front.clients_of(node):
                        self._note("failed", client)
                        self._door.forget(client)
                    self._follow(self._front.lost(self._now(), node))
                    self._spawn(self._release(node))

    def receive(self) -> tuple[int, asyncio.Future[Action]]:
        """Register a new client with Front; returns its number, and a future of its Node."""
        client = self._next_client
        self._next_client += 1
        self._note("received", client)
        placed: asyncio.Future[Action] = self._loop.create_future()
        self._answers[client] = placed
        self._follow(self._front.arrive(self._now(), client))
        return client, placed

    def answered(self, client: int) -> None:
        """Drop the future of a client's place."""
        del self._answers[client]

    def depart(self, client: int, outcome: Outcome) -> None:
        """Remove a client and log its outcome, which is `abandoned` if it is still waiting."""
        here = client in self._front.place or client in self._front.waiting
        if here and not self._door.closed:
            waits = client in self._front.waiting
            self._note("abandoned" if waits else outcome, client)
            self._follow(self._front.leave(self._now(), client, outcome))

    def url(self, node: int) -> str | None:
        """URL of the video on a Node; None if the Node does not exist."""
        return self._urls.get(node)


def _forget(work: asyncio.Future[str]) -> None:
    """Retrieve the task's exception, so that asyncio does not report it as never retrieved."""
    if not work.cancelled():
        work.exception()
