"""Front: places clients on Nodes, and decides when instances are allocated and released.

A state machine on events, without clock, network or randomness (Dutra 2015, 4.3.1). A client is
placed on the most loaded Node that has room. If none has room, an instance is allocated, and the
client waits, but no longer than its patience. A Node without clients is released. Other policies
exist for comparison.
"""

from __future__ import annotations

import math
from collections import deque
from itertools import takewhile
from typing import Literal

import msgspec

Choice = Literal["most-loaded", "least-loaded"]
Waiting = Literal["shared", "each"]
Outcome = Literal["served", "abandoned", "blocked", "failed"]

FAILURES_IN_A_ROW = 3
"""Consecutive failed allocations after which no more are tried for the waiting clients. They are
told of the failure as soon as no other allocation is under way."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Policy of Front; times in seconds. The defaults are the published algorithm."""

    clients_per_node: int
    patience_s: float
    choice: Choice = "most-loaded"
    waiting: Waiting = "shared"
    """Whether waiting clients share the room of one allocation, or each waits for its own."""
    warm_nodes: int = 0
    """Number of Nodes without clients that are held ready."""
    release_delay_s: float = 0.0
    """Seconds after which a Node without clients is released."""
    predictor_window_s: float = 0.0
    """Window in seconds of a linear predictor of the number of clients; 0: no predictor."""
    predictor_horizon_s: float = 0.0
    """Seconds ahead for which clients are predicted; the Nodes that they need are allocated now."""
    most_nodes: int | None = None
    """The environment's quota of Nodes; None: no quota."""

    def __post_init__(self) -> None:
        """Check the settings. Errors: ValueError that names an impossible one."""
        if self.clients_per_node < 1:
            raise ValueError("clients_per_node: a Node serves at least one client")
        if self.most_nodes is not None and self.most_nodes < 1:
            raise ValueError("most_nodes: without any Node nobody is served")
        for name in (
            "patience_s",
            "warm_nodes",
            "release_delay_s",
            "predictor_window_s",
            "predictor_horizon_s",
        ):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name}: {value} is no finite number of at least 0")


class Redirect(msgspec.Struct, frozen=True):
    """Action: redirect the client to the Node."""

    client: int
    node: int


class Block(msgspec.Struct, frozen=True):
    """Action: refuse to serve the client."""

    client: int
    outcome: Outcome
    """`blocked`: its patience has ended; `failed`: no allocation can be expected."""


class Allocate(msgspec.Struct, frozen=True):
    """Action: request an instance; `ready` or `allocation_failed` must follow."""

    node: int


class Release(msgspec.Struct, frozen=True):
    """Action: release the instance of a Node."""

    node: int


Action = Redirect | Block | Allocate | Release


class Books(msgspec.Struct):
    """Counts of all clients by outcome; every client received has exactly one in the end."""

    received: int = 0
    served: int = 0
    abandoned: int = 0
    blocked: int = 0
    failed: int = 0


class Front:
    """State and decisions. Events must come in order of time; each returns the actions to take."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.books = Books()
        self.nodes: dict[int, int] = {}
        """Number of clients of each ready Node."""
        self.pending: dict[int, None] = {}
        """Nodes whose allocation is under way."""
        self.place: dict[int, int] = {}
        """Node of each client that is being served."""
        self.waiting: dict[int, float] = {}
        """End of patience of each client without a Node, in order of arrival."""
        self._by_load: list[dict[int, None]] = [{} for _ in range(settings.clients_per_node + 1)]
        self._loads = 0  # bit k is set if a Node with k clients exists
        self._room = (1 << settings.clients_per_node) - 1
        self._empty: dict[int, float] = {}  # when to release Nodes without clients, ascending
        self._keep_s = max(settings.release_delay_s, settings.predictor_window_s)
        self._foresees = settings.warm_nodes > 0 or settings.predictor_window_s > 0
        self._history: deque[tuple[float, int]] = deque()
        self._members: dict[int, dict[int, None]] = {}
        self._next_node = 0
        self._failures = 0

    def start(self, now: float) -> list[Action]:
        """Allocate the Nodes that are held ready; call it before the first client."""
        return self._provision(now, [])

    def arrive(self, now: float, client: int) -> list[Action]:
        """Event: a client requests the video. Errors: ValueError if `client` is not new."""
        if client in self.place or client in self.waiting:
            raise ValueError(f"client {client} is here already")
        self.books.received += 1
        node = self._choose()
        actions: list[Action] = []
        if node is None:
            self.waiting[client] = now + self.settings.patience_s
        else:
            self._put(client, node)
            actions.append(Redirect(client, node))
        return self._provision(now, actions)

    def leave(self, now: float, client: int, outcome: Outcome = "served") -> list[Action]:
        """Event: a client leaves, `served` to the end of the video, or earlier for another reason.

        A client that is still waiting counts as abandoned in any case. A client that is unknown,
        because it was blocked or has left, is ignored.
        """
        if client in self.waiting:
            del self.waiting[client]
            self.books.abandoned += 1
            return self._provision(now, [])
        node = self.place.pop(client, None)
        if node is None:
            return []
        setattr(self.books, outcome, getattr(self.books, outcome) + 1)
        del self._members[node][client]
        self._move(node, self.nodes[node] - 1)
        actions: list[Action] = []
        self._seat(actions)
        if self.nodes[node] == 0:
            self._left_empty(now, node, actions)
        return self._provision(now, actions)

    def ready(self, now: float, node: int) -> list[Action]:
        """Event: an allocation has succeeded. Clients are placed in order of arrival."""
        if node not in self.pending:
            return []
        del self.pending[node]
        self._failures = 0
        self._add(node)
        actions: list[Action] = []
        self._seat(actions)
        if self.nodes[node] == 0:
            self._left_empty(now, node, actions)
        return self._provision(now, actions)

    def allocation_failed(self, now: float, node: int) -> list[Action]:
        """Event: an allocation has failed. It is retried a few times while clients wait."""
        if node not in self.pending:
            return []
        del self.pending[node]
        self._failures += 1
        if self._failures < FAILURES_IN_A_ROW:
            return self._provision(now, [])
        if self.pending:  # a quota may be used up, but another allocation may still succeed
            return []
        self._failures = 0
        actions: list[Action] = [Block(client, "failed") for client in self.waiting]
        self.books.failed += len(self.waiting)
        self.waiting.clear()
        return actions

    def lost(self, now: float, node: int) -> list[Action]:
        """Event: an instance has died. Its clients count as failed; they may request again."""
        if node not in self.nodes:
            return self.allocation_failed(now, node)
        gone = self._members[node]
        for client in gone:
            del self.place[client]
        self.books.failed += len(gone)
        self._remove(node)
        return self._provision(now, [])

    def clients_of(self, node: int) -> tuple[int, ...]:
        """Clients that a Node is serving."""
        return tuple(self._members.get(node, ()))

    def due(self) -> float:
        """Time at which `tick` must be called next; infinity if there is nothing to do."""
        if not (self.waiting or self._empty):
            return math.inf
        due = math.inf
        for ends in (self.waiting, self._empty):
            for end in ends.values():
                due = min(due, end)
                break
        return due

    def tick(self, now: float) -> list[Action]:
        """Block clients whose patience has ended, and release Nodes that were empty too long."""
        actions: list[Action] = []
        late = list(takewhile(lambda client: self.waiting[client] <= now, self.waiting))
        for client in late:
            del self.waiting[client]
            self.books.blocked += 1
            actions.append(Block(client, "blocked"))
        for node in list(takewhile(lambda node: self._empty[node] <= now, self._empty)):
            del self._empty[node]
            self._release_spare(now, node, actions)
        return self._provision(now, actions)

    def _choose(self) -> int | None:
        room = self._loads & self._room
        if not room:
            return None
        if self.settings.choice == "least-loaded":
            load = (room & -room).bit_length() - 1
        else:
            load = room.bit_length() - 1
        return next(iter(self._by_load[load]))

    def _seat(self, actions: list[Action]) -> None:
        """Place waiting clients as long as there is room."""
        while self.waiting:
            node = self._choose()
            if node is None:
                return
            client = next(iter(self.waiting))
            del self.waiting[client]
            self._put(client, node)
            actions.append(Redirect(client, node))

    def _put(self, client: int, node: int) -> None:
        self.place[client] = node
        self._empty.pop(node, None)
        self._members[node][client] = None
        self._move(node, self.nodes[node] + 1)

    def _add(self, node: int) -> None:
        self.nodes[node] = 0
        self._members[node] = {}
        self._by_load[0][node] = None
        self._loads |= 1

    def _move(self, node: int, load: int) -> None:
        self._forget(node)
        self.nodes[node] = load
        self._by_load[load][node] = None
        self._loads |= 1 << load

    def _forget(self, node: int) -> None:
        old = self.nodes[node]
        same = self._by_load[old]
        del same[node]
        if not same:
            self._loads &= ~(1 << old)

    def _remove(self, node: int) -> None:
        self._forget(node)
        del self.nodes[node]
        del self._members[node]
        self._empty.pop(node, None)

    def _left_empty(self, now: float, node: int, actions: list[Action]) -> None:
        if self._keep_s > 0:
            self._empty[node] = now + self._keep_s
        else:
            self._release_spare(now, node, actions)

    def _release_spare(self, now: float, node: int, actions: list[Action]) -> None:
        """Release a Node without clients, unless the policy needs it."""
        if self._missing(now, len(self.nodes) - 1) <= 0:
            self._remove(node)
            actions.append(Release(node))
        elif self.settings.predictor_window_s:
            self._empty[node] = now + self._keep_s

    def _provision(self, now: float, actions: list[Action]) -> list[Action]:
        """Allocate missing instances within the quota."""
        if not (self.waiting or self._foresees):
            return actions
        missing = self._missing(now, len(self.nodes))
        if self.settings.most_nodes is not None:
            here = len(self.nodes) + len(self.pending)
            missing = min(missing, self.settings.most_nodes - here)
        for _ in range(missing):
            node = self._next_node
            self._next_node += 1
            self.pending[node] = None
            actions.append(Allocate(node))
        return actions

    def _missing(self, now: float, ready: int) -> int:
        """Instances needed beyond `ready` Nodes and instances under way; negative: too many."""
        settings = self.settings
        waiting = len(self.waiting)
        each = 1 if settings.waiting == "each" else settings.clients_per_node
        needed = -(-waiting // each)
        missing = needed - len(self.pending)
        if settings.warm_nodes:
            idle = len(self._by_load[0]) - (len(self.nodes) - ready)
            missing = max(missing, needed + settings.warm_nodes - idle - len(self.pending))
        if settings.predictor_window_s:
            missing = max(missing, self._predicted(now) - ready - len(self.pending))
        return missing

    def _predicted(self, now: float) -> int:
        """Nodes that clients will need at the horizon, extrapolated linearly from the window."""
        clients = len(self.place) + len(self.waiting)
        history = self._history
        history.append((now, clients))
        while len(history) > 2 and history[1][0] <= now - self.settings.predictor_window_s:
            history.popleft()
        then, before = history[0]
        # Two arrivals in quick succession are no trend: divide by the whole window at least.
        slope = (clients - before) / max(now - then, self.settings.predictor_window_s)
        ahead = clients + slope * self.settings.predictor_horizon_s
        return math.ceil(max(0.0, ahead) / self.settings.clients_per_node)
