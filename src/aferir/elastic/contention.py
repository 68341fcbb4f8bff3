"""Simulates allocations under way at the same time, which delay one another.

Four things can be shared. A scheduler places one request after another. The link of the image store
is shared by all images that are copied at once, and the link of a rack by those copied to its
hosts; each copy gets its max-min fair rate (Bertsekas and Gallager, Data Networks, 6.5.2). A host
carries out a limited number of allocations at once; more wait in order of their requests. The
scheduler's and the store's parts are given as shares of the time that an allocation takes without
others, so that it still has the mean of Dutra 2015, Table 5.5, which was measured one allocation at
a time. Which rack an allocation goes to, and what its link can take, are the effects of the
scheduler and of the topology of the data centre that its section 1.5.1 asks for.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from typing import Literal, get_args

import msgspec

Placement = Literal["spread", "packed"]


class Contention(msgspec.Struct, frozen=True, kw_only=True):
    """Resources that allocations share while they are under way; by default there are none."""

    hosts: int | None = None
    """Number of hosts, divided evenly among the racks; None: each allocation has a host of its own.
    """
    at_once: int = 1
    """Largest number of allocations that one host carries out concurrently."""
    scheduler_share: float = 0.0
    """Time for which an allocation occupies the scheduler, as a share of the time that it takes
    alone. The scheduler serves one allocation at a time.
    """
    store_share: float = 0.0
    """Time for which an allocation copies its image from the store, as a share of the time that it
    takes alone.
    """
    store_link: float = 1.0
    """Number of copies that the link of the store takes at once, each as fast as one alone."""
    racks: int = 1
    rack_link: float = math.inf
    """Number of copies that the link of a rack takes at once, each as fast as one alone."""
    placement: Placement = "spread"
    """Which rack with a free host gets an allocation: the one with the fewest allocations under
    way, or (packed) the one with the most; the first of equals.
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
        if self.racks < 1 or (self.hosts is not None and self.racks > self.hosts):
            raise ValueError("racks: at least one, and at least one host in each")
        if not (self.store_link >= 1 and self.rack_link >= 1):
            raise ValueError("links: at least one copy at its full speed")
        if self.placement not in get_args(Placement):
            raise ValueError(f"placement: {' or '.join(get_args(Placement))}")


class _Rack:
    """Hosts behind one link, and what they are busy with."""

    def __init__(self, slots: float) -> None:
        self.free = slots
        """Number of allocations that its hosts can still take on."""
        self.busy = 0
        self.copying: list[tuple[float, int, float]] = []
        """Heap of (progress at which the copy ends, node, seconds of the rest)."""
        self.copied_s = 0.0
        """Progress of a copy since the start, by which all copies to this rack advance alike."""
        self.slowness = 1.0
        """Seconds that a second of copying takes."""

    def ends(self, now: float) -> float:
        """Time at which its next copy ends if no other begins or ends before it."""
        if not self.copying:
            return math.inf
        return now + max(0.0, self.copying[0][0] - self.copied_s) * self.slowness


def _slots(shared: Contention, place: int) -> float:
    """Number of allocations that the hosts of a rack carry out at once."""
    if shared.hosts is None:
        return math.inf
    whole, more = divmod(shared.hosts, shared.racks)
    return (whole + (place < more)) * shared.at_once


class Underway:
    """Allocations that have been requested and are not ready; times in seconds, ascending."""

    def __init__(self, shared: Contention) -> None:
        self._shared = shared
        self._racks = [_Rack(_slots(shared, place)) for place in range(shared.racks)]
        self._scheduling: deque[tuple[int, float, float]] = deque()
        self._scheduled_s = math.inf
        self._waiting: deque[tuple[int, float, float]] = deque()
        self._booting: list[tuple[float, int, _Rack]] = []
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
        return min(self._scheduled_s, self._next_copy().ends(self._now), boot)

    def advance(self, now: float) -> int | None:
        """Carry out the event that is due at `now`; returns the node that became ready, or None."""
        boot = self._booting[0][0] if self._booting else math.inf
        rack = self._next_copy()
        copy = rack.ends(self._now)
        self._move(now)
        if boot <= min(copy, self._scheduled_s):
            _, node, host_in = heapq.heappop(self._booting)
            host_in.free += 1
            host_in.busy -= 1
            self._admit()
            return node
        if copy <= self._scheduled_s:
            _, node, rest_s = heapq.heappop(rack.copying)
            heapq.heappush(self._booting, (now + rest_s, node, rack))
            self._share()
            return None
        self._waiting.append(self._scheduling.popleft())
        self._schedule()
        self._admit()
        return None

    def _move(self, now: float) -> None:
        for rack in self._racks:
            rack.copied_s += (now - self._now) / rack.slowness
        self._now = now

    def _next_copy(self) -> _Rack:
        return min(self._racks, key=lambda rack: rack.ends(self._now))

    def _share(self) -> None:
        """Give each copy its max-min fair rate: racks with the most copies are limited first."""
        left = self._shared.store_link
        copies = sum(len(rack.copying) for rack in self._racks)
        for rack in sorted(self._racks, key=lambda rack: -len(rack.copying)):
            own = len(rack.copying)
            if not own:
                break
            rack.slowness = max(1.0, copies / left, own / self._shared.rack_link)
            left -= own / rack.slowness
            copies -= own

    def _schedule(self) -> None:
        """Start placing the first request, if there is one."""
        self._scheduled_s = math.inf
        if self._scheduling:
            alone_s = self._scheduling[0][1]
            self._scheduled_s = self._now + self._shared.scheduler_share * alone_s

    def _admit(self) -> None:
        """Start copies for the requests that wait, as long as a host is free."""
        while self._waiting and (open_racks := [rack for rack in self._racks if rack.free > 0]):
            choose = min if self._shared.placement == "spread" else max
            rack = choose(open_racks, key=lambda rack: rack.busy)
            rack.free -= 1
            rack.busy += 1
            node, alone_s, wake_s = self._waiting.popleft()
            copy_s = self._shared.store_share * alone_s
            rest_s = alone_s - copy_s - self._shared.scheduler_share * alone_s + wake_s
            heapq.heappush(rack.copying, (rack.copied_s + copy_s, node, rest_s))
        self._share()
