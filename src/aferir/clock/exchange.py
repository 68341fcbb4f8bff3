"""The RGAP exchange for many nodes at once (Dutra 2015, 6.2, 6.3 and 7.3).

A client sends, the server answers with its reading, the client measures the round-trip time. The
first exchanges (`discard`, D) are discarded; the loop ends when the standard deviation of the 20
smallest round trips is below `deviation_s` (K), or at a limit of messages. The exchange with the
smallest round trip is used. The smallest delay of each direction is stored too, so that jitter on
the way back does not spoil a good way out. No random numbers are drawn here: delays come from a
function that the caller passes.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np
from numpy.typing import NDArray

from aferir.clock.delays import Array, Single

Index = NDArray[np.int64]
Draw = Callable[[Index, int], tuple[Single, Single]]
"""Function that draws delays above the floor for the given nodes: forward and back, each of shape
(count, nodes).
"""


class StopRule(msgspec.Struct, frozen=True, kw_only=True):
    """Rule for ending the exchange of messages; defaults are those of Dutra 2015, 6.3 and 7.3."""

    discard: int = 5
    smallest: int = 20
    deviation_s: float = 500e-9
    messages: int = 10_000
    """Largest number of answered exchanges, discarded ones included."""
    gap_s: float = 1e-6
    """Pause in s between two exchanges, which limits the load of the network."""

    def __post_init__(self) -> None:
        """Raise ValueError for a rule that could never be met."""
        if self.smallest < 2 or self.discard < 0:
            raise ValueError("a standard deviation needs two round trips, and discard is >= 0")
        if self.messages < self.discard + self.smallest:
            raise ValueError("messages must leave room for discard + smallest")


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """Result of each node's exchange; all arrays have shape (nodes,).

    Delays are in s above the floor. Places count from the first exchange that is not discarded.
    """

    forward_s: Array
    """Forward delay of the exchange with the smallest round trip."""
    back_s: Array
    place: Index
    least_forward_s: Array
    """Smallest forward delay of all exchanges, independently of the way back."""
    least_back_s: Array
    forward_place: Index
    back_place: Index
    deviation_s: Array
    """Standard deviation of the smallest round trips."""
    sum_s: Array
    """Sum of all delays, discarded exchanges included."""
    messages: Index
    """Number of answered exchanges, discarded ones included."""


def exchange(draw: Draw, nodes: int, rule: StopRule) -> Exchange:
    """Run the exchange of every node until its stop rule holds."""
    everyone = np.arange(nodes)
    total = np.zeros(nodes)
    if rule.discard:
        for delays in draw(everyone, rule.discard):
            total += delays.sum(axis=0)
    forward, back = draw(everyone, rule.smallest)
    trips = forward + back
    total += trips.sum(axis=0)
    place, forward_place, back_place = (d.argmin(axis=0) for d in (trips, forward, back))
    state = _State(
        forward=forward[place, everyone],
        back=back[place, everyone],
        place=place,
        least_forward=forward[forward_place, everyone],
        least_back=back[back_place, everyone],
        forward_place=forward_place,
        back_place=back_place,
        total=total,
        answered=np.full(nodes, rule.smallest),
    )
    smallest = _Smallest(trips)
    waiting = np.flatnonzero(smallest.deviations(everyone) >= rule.deviation_s)
    for number in range(rule.smallest, rule.messages - rule.discard):
        if waiting.size == 0:
            break
        (forward,), (back,) = draw(waiting, 1)
        state.take(waiting, number, forward, back)
        better = smallest.take(waiting, forward + back)
        # A round trip that is not among the smallest does not change their deviation.
        settled = better[smallest.deviations(waiting[better]) < rule.deviation_s]
        waiting = np.delete(waiting, settled)
    return state.result(rule.discard, smallest.deviations(everyone))


class _Smallest:
    """The smallest round trips of each node, shape (nodes, count), and their deviation.

    Sums are updated in double precision relative to each node's first round trip, since a new round
    trip replaces one of twenty. Each row is a node, for locality in memory.
    """

    def __init__(self, trips: Single) -> None:
        self._origin = trips[0].astype(np.float64)
        above = trips - self._origin
        self._sum = above.sum(axis=0)
        self._squares = np.einsum("ij,ij->j", above, above)
        self._trips = np.ascontiguousarray(trips.T)
        self._worst = self._trips.argmax(axis=1)
        self._largest = trips.max(axis=0)

    def take(self, nodes: Index, trips: Single) -> Index:
        """Replace each node's largest stored round trip by a new one, if the new one is smaller.

        Returns the positions in `nodes` of those whose round trip was replaced.
        """
        better = np.flatnonzero(trips < self._largest[nodes])
        if better.size:
            rows, trip = nodes[better], trips[better]
            new = trip - self._origin[rows]
            old = self._largest[rows] - self._origin[rows]
            self._sum[rows] += new - old
            self._squares[rows] += new**2 - old**2
            self._trips[rows, self._worst[rows]] = trip
            kept = self._trips[rows]
            worst = kept.argmax(axis=1)
            self._worst[rows] = worst
            self._largest[rows] = kept[np.arange(rows.size), worst]
        return better

    def deviations(self, nodes: Index) -> Array:
        """Sample standard deviation of the round trips of `nodes`."""
        count = self._trips.shape[1]
        squares = self._squares[nodes] - self._sum[nodes] ** 2 / count
        deviations: Array = np.sqrt(np.maximum(squares, 0) / (count - 1))
        return deviations


class _State(msgspec.Struct, kw_only=True):
    """Best exchanges so far; the arrays are updated in place."""

    forward: Single
    back: Single
    place: Index
    least_forward: Single
    least_back: Single
    forward_place: Index
    back_place: Index
    total: Array
    answered: Index

    def take(self, nodes: Index, number: int, forward: Single, back: Single) -> None:
        self.total[nodes] += forward + back
        self.answered[nodes] += 1
        better = forward + back < self.forward[nodes] + self.back[nodes]
        self.forward[nodes[better]] = forward[better]
        self.back[nodes[better]] = back[better]
        self.place[nodes[better]] = number
        for delays, least, places in (
            (forward, self.least_forward, self.forward_place),
            (back, self.least_back, self.back_place),
        ):
            shorter = delays < least[nodes]
            least[nodes[shorter]] = delays[shorter]
            places[nodes[shorter]] = number

    def result(self, discarded: int, deviations: Array) -> Exchange:
        return Exchange(
            forward_s=self.forward.astype(np.float64),
            back_s=self.back.astype(np.float64),
            place=self.place,
            least_forward_s=self.least_forward.astype(np.float64),
            least_back_s=self.least_back.astype(np.float64),
            forward_place=self.forward_place,
            back_place=self.back_place,
            deviation_s=deviations,
            sum_s=self.total,
            messages=self.answered + discarded,
        )
