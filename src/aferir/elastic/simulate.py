"""The service on simulated time: the real Front, with random allocation latencies."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from aferir.elastic.arrivals import SHAPES, Times, arrivals
from aferir.elastic.contention import Contention, Underway
from aferir.elastic.front import Action, Allocate, Block, Books, Front, Redirect, Settings
from aferir.elastic.hibernation import Hibernation, Hosts, HostUse
from aferir.elastic.metrics import Trace

Draw = Callable[[], float]
"""Function that draws the latency in s of an allocation without others; infinity: it fails."""
_NOTHING_SHARED = Contention()


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """Arrivals of clients and length of the video; times in seconds."""

    clients: int
    interarrival_s: float
    """Mean interval between the arrivals of two clients."""
    video_s: float
    shape: str = "poisson"
    """Shape of the load: one of `arrivals.SHAPES`."""

    def __post_init__(self) -> None:
        """Check the values. Errors: ValueError that names an impossible one."""
        if self.clients < 1:
            raise ValueError("clients: at least one")
        if self.shape not in SHAPES:
            raise ValueError(f"arrivals: {self.shape} is none of {', '.join(SHAPES)}")
        for name in ("interarrival_s", "video_s"):
            value = getattr(self, name)
            if not 0 < value < math.inf:
                raise ValueError(f"{name}: {value} is no finite number above 0")


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one simulated run."""

    books: Books
    allocations: int
    releases: int
    most_nodes: int
    duration_s: float
    blocked_percent: float
    """PcBl: percentage of blocked clients among those received."""
    trace: Trace
    use: HostUse | None = None
    """Use of hosts that may hibernate; None: they were not simulated."""

    @property
    def accounted(self) -> bool:
        """Whether every client received has exactly one outcome."""
        books = self.books
        ended = books.served + books.abandoned + books.blocked + books.failed
        return books.received == ended


def gamma(mean_s: float, sd_s: float, rng: np.random.Generator) -> Draw:
    """Gamma-distributed latencies of this mean and standard deviation; constant if that is 0."""
    if sd_s == 0:
        return lambda: mean_s
    shape = (mean_s / sd_s) ** 2
    scale = sd_s**2 / mean_s
    return lambda: float(rng.gamma(shape, scale))


def resampled(measured_s: Sequence[float], rng: np.random.Generator) -> Draw:
    """Latencies resampled from measured ones. Errors: ValueError unless all are above 0."""
    values = np.asarray(measured_s, dtype=float)
    if values.size == 0 or not np.all(np.isfinite(values) & (values > 0)):
        raise ValueError("measured latencies must be finite numbers above 0, at least one")
    return lambda: float(values[rng.integers(values.size)])


def simulate(
    settings: Settings,
    load: Load,
    rng: np.random.Generator,
    latency_s: Draw,
    *,
    trace: Times | None = None,
    shared: Contention = _NOTHING_SHARED,
    hibernation: Hibernation | None = None,
) -> Result:
    """Run until the last client has left and the last allocation has ended.

    `trace`: arrival times in seconds, which replace those drawn from the load. `shared`: resources
    for which allocations wait; `hibernation`: when hosts sleep. Nodes that the policy holds ready
    are ready before the first client arrives.
    """
    if trace is None:
        trace = arrivals(
            load.shape, clients=load.clients, interarrival_s=load.interarrival_s, rng=rng
        )
    hosts = None if hibernation is None else Hosts(hibernation)
    return _Run(settings, load, trace, latency_s, Underway(shared), hosts=hosts).go()


class _Run:
    def __init__(
        self,
        settings: Settings,
        load: Load,
        times: Times,
        latency_s: Draw,
        underway: Underway,
        *,
        hosts: Hosts | None,
    ) -> None:
        self.front = Front(settings)
        self.load = load
        self.arrivals: list[float] = times.tolist()
        self.latency_s = latency_s
        # All videos have one length, so clients leave in the order in which they were placed.
        self.leaving: deque[tuple[float, int]] = deque()
        self.underway = underway
        self.hosts = hosts
        self.allocations = self.releases = 0
        self.times: list[float] = []
        self.clients: list[int] = []
        self.nodes: list[int] = []

    def go(self) -> Result:
        front, leaving, underway = self.front, self.leaving, self.underway
        for action in front.start(0.0):
            assert isinstance(action, Allocate)
            self.allocations += 1
            self._wait_for_host(0.0, action.node)
            front.ready(0.0, action.node)
        coming = iter(enumerate(self.arrivals))
        client, arrival = next(coming, (0, math.inf))
        while True:
            leave = leaving[0][0] if leaving else math.inf
            ready = underway.due()
            due = front.due()
            if arrival < leave and arrival < ready and arrival < due:
                now = arrival
                actions = front.arrive(now, client)
                client, arrival = next(coming, (0, math.inf))
            elif leave < ready and leave < due:
                now = leave
                actions = front.leave(now, leaving.popleft()[1])
            elif ready < due:
                now = ready
                node = underway.advance(now)
                if node is None:
                    continue
                actions = front.ready(now, node)
            elif due < math.inf:
                now = due
                actions = front.tick(now)
            else:
                break
            if actions:
                self._carry_out(now, actions)
            self.times.append(now)
            self.clients.append(len(front.place) + len(front.waiting))
            self.nodes.append(len(front.nodes))
        return self._result()

    def _carry_out(self, now: float, actions: Sequence[Action]) -> None:
        for action in actions:
            if isinstance(action, Redirect):
                self.leaving.append((now + self.load.video_s, action.client))
            elif isinstance(action, Allocate):
                self.allocations += 1
                wake_s = self._wait_for_host(now, action.node)
                self.underway.add(now, action.node, self.latency_s(), wake_s)
            elif not isinstance(action, Block):
                self.releases += 1
                if self.hosts is not None:
                    self.hosts.release(now, action.node)

    def _wait_for_host(self, now: float, node: int) -> float:
        """Seconds until the host of a new instance is awake."""
        return 0.0 if self.hosts is None else self.hosts.place(now, node)

    def _result(self) -> Result:
        books = self.front.books
        ended_s = self.times[-1] if self.times else 0.0
        return Result(
            books=books,
            allocations=self.allocations,
            releases=self.releases,
            most_nodes=max(self.nodes, default=0),
            duration_s=ended_s,
            blocked_percent=100.0 * books.blocked / books.received if books.received else 0.0,
            trace=Trace(
                times_s=tuple(self.times), clients=tuple(self.clients), nodes=tuple(self.nodes)
            ),
            use=None if self.hosts is None else self.hosts.use(ended_s),
        )
