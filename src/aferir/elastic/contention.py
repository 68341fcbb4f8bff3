"""Simulates allocations under way at the same time, which delay one another.

Three things can be shared. A scheduler places one request after another. The image store and its
link are shared equally by all images that are copied at once (processor sharing). A host carries
out a limited number of allocations at once; more wait in order of their requests. The scheduler's
and the store's parts are given as shares of the time that an allocation takes without others, so
that it still has the mean of Dutra 2015, Table 5.5, which was measured one allocation at a time.
"""

from __future__ import annotations

import heapq
import math
from collections import deque

import msgspec


class Contention(msgspec.Struct, frozen=True, kw_only=True):
    """Resources that allocations share while they are under way; by default there are none."""

    hosts: int | None = None
    """Number of hosts; None: each allocation has a host of its own."""
    at_once: int = 1
    """Largest number of allocations that one host carries out concurrently."""
    scheduler_share: float = 0.0
    """Time for which an allocation occupies the scheduler, as a share of the time that it takes
    alone. The scheduler serves one allocation at a time.
    """
    store_share: float = 0.0
    """Time for which an allocation occupies the image store and its link, as a share of the time
    that it takes alone.
    """

    def __post_init__(self) -> None:
        """Check the values. Errors: ValueError that names an impossible one."""
        if self.hosts is not None and self.hosts < 1:
            raise ValueError("hosts: at least one")
        if self.at_once < 1:
            raise ValueError("at_once: a host carries out at least one allocation")
        shares = (self.scheduler_share, self.store_share)
        if not all(0 <= share <= 1 for share in shares) or sum(shares) > 1:
            raise ValueError("shares of the scheduler and the store: from 0 to 1, also together")


class Underway:
    """Allocations that have been requested and are not ready; times in seconds, ascending."""

    def __init__(self, shared: Contention) -> None:
        self._shared = shared
        hosts = math.inf if shared.hosts is None else shared.hosts
        self._free = hosts * shared.at_once
        self._scheduling: deque[tuple[int, float, float]] = deque()
        self._scheduled_s = math.inf
        self._waiting: deque[tuple[int, float, float]] = deque()
        self._copying: list[tuple[float, int, float]] = []
        self._booting: list[tuple[float, int]] = []
        # Progress of a copy since the start, by which all copies under way advance alike.
        self._copied_s = 0.0
        self._now = 0.0

    def add(self, now: float, node: int, alone_s: float, wake_s: float = 0.0) -> None:
        """Request an allocation that takes `alone_s` if no other is under way; infinity: for ever.

        Waking its host adds `wake_s`, in which nothing shared is used.
        """
        if alone_s == math.inf:
            return
        self._move(now)
        self._scheduling.append((node, alone_s, wake_s))
        if len(self._scheduling) == 1:
            self._schedule()

    def due(self) -> float:
        """Time of the next event; infinity if there is none."""
        boot = self._booting[0][0] if self._booting else math.inf
        return min(self._scheduled_s, self._copy_ends(), boot)

    def advance(self, now: float) -> int | None:
        """Carry out the event that is due at `now`; returns the node that became ready, or None."""
        boot = self._booting[0][0] if self._booting else math.inf
        copy = self._copy_ends()
        self._move(now)
        if boot <= min(copy, self._scheduled_s):
            self._free += 1
            node = heapq.heappop(self._booting)[1]
            self._admit()
            return node
        if copy <= self._scheduled_s:
            _, node, rest_s = heapq.heappop(self._copying)
            heapq.heappush(self._booting, (now + rest_s, node))
            return None
        self._waiting.append(self._scheduling.popleft())
        self._schedule()
        self._admit()
        return None

    def _move(self, now: float) -> None:
        if self._copying:
            self._copied_s += (now - self._now) / len(self._copying)
        self._now = now

    def _copy_ends(self) -> float:
        if not self._copying:
            return math.inf
        left_s = max(0.0, self._copying[0][0] - self._copied_s)
        return self._now + left_s * len(self._copying)

    def _schedule(self) -> None:
        """Start placing the first request, if there is one."""
        self._scheduled_s = math.inf
        if self._scheduling:
            alone_s = self._scheduling[0][1]
            self._scheduled_s = self._now + self._shared.scheduler_share * alone_s

    def _admit(self) -> None:
        """Start copies for the requests that wait, as long as a host is free."""
        while self._waiting and self._free > 0:
            self._free -= 1
            node, alone_s, wake_s = self._waiting.popleft()
            copy_s = self._shared.store_share * alone_s
            rest_s = alone_s - copy_s - self._shared.scheduler_share * alone_s + wake_s
            heapq.heappush(self._copying, (self._copied_s + copy_s, node, rest_s))
