"""Offset and rate from exchanges of messages, and how large the error can be by now.

An offset is what must be added to the local reading to get the server's. One look gives an offset
that is wrong by at most half the round trip (Cristian 1989), whatever the delays were. A second
look gives the rate; from then on the error grows with the rate's own uncertainty and with the
wander of the oscillators, not with their difference.
"""

from __future__ import annotations

import msgspec
import numpy as np

from aferir.clock.delays import Array


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """One exchange as a client keeps it; all arrays have shape (nodes,)."""

    local_s: Array
    """The client's reading in the middle of the exchange that was kept."""
    offset_s: Array
    """Server's minus client's reading at that moment."""
    bound_s: Array
    """The offset's error is at most this."""
    excess_s: Array
    """Delays above the path's floor made at most so much of that error; see `path_excess`."""


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A global clock: `local + offset + rate * elapsed`; all arrays have shape (nodes,)."""

    local_s: Array
    offset_s: Array
    rate: Array
    bound_s: Array
    rate_bound: Array
    """The rate's error over the looks is at most this."""
    wander: Array
    """The rate leaves its value over the looks by at most this."""


def offset_of_trip(pre_s: Array, server_s: Array, post_s: Array) -> tuple[Array, Array]:
    """Offset and its bound from the three readings of one exchange (Dutra 2015, code 6.4).

    The server read its clock somewhere between `pre` and `post`, hence the bound of half the
    round trip.
    """
    # Differences first: the clocks may have started years apart.
    half = (post_s - pre_s) / 2
    return (server_s - pre_s) - half, half


def offset_of_directions(
    forward_s: Array, back_s: Array, *, span_s: Array, rate_limit: float
) -> tuple[Array, Array]:
    """Offset and its bound from the least difference of readings in each direction.

    `forward_s` is the least (server - pre), `back_s` the least (post - server). They may stem
    from two exchanges `span_s` apart; the offset is that of the middle between both. Meanwhile
    the clocks drift, which is added to the bound; but for that it is never wider than that of
    the smallest round trip.
    """
    return (forward_s - back_s) / 2, (forward_s + back_s + rate_limit * span_s) / 2


def path_excess(deviation_s: Array, gap_s: Array, least_s: Array, other_least_s: Array) -> Array:
    """Most by which jitter can have moved an offset on a path whose floors do not change.

    `least_s` is the sum of both directions' least delays, `gap_s` what the kept exchange took
    beyond it (nothing, where the least delays themselves are kept). A round trip is the smallest
    when both ways are middling, too, and then the offset is off by up to half the gap. Least
    delays in turn come within three standard deviations (of the smallest round trips) of what
    the path does at its best, when twenty were seen; and a look whose least delays are longer
    than the other look's has that much more jitter in them.
    """
    return (3 * deviation_s + gap_s + np.maximum(least_s - other_least_s, 0)) / 2


def first_line(look: Look, *, rate_limit: float) -> Line:
    """The clock after one look: no rate is known but that it is within the limit."""
    nothing = np.zeros_like(look.local_s)
    return Line(
        local_s=look.local_s,
        offset_s=look.offset_s,
        rate=nothing,
        bound_s=look.bound_s,
        rate_bound=nothing + rate_limit,
        wander=nothing,
    )


def second_line(first: Look, second: Look, *, wander: float, repeatable: bool = True) -> Line:
    """The clock after two looks.

    `wander` is the half-width in which the rate moves, so it can leave its mean over the looks by
    twice as much. On a `repeatable` path both looks have the same floors, so that the offsets'
    common error cancels in the rate; without that promise the full bounds count.
    """
    elapsed = second.local_s - first.local_s
    errors = first.excess_s + second.excess_s if repeatable else first.bound_s + second.bound_s
    return Line(
        local_s=second.local_s,
        offset_s=second.offset_s,
        rate=(second.offset_s - first.offset_s) / elapsed,
        bound_s=second.bound_s,
        rate_bound=errors / elapsed,
        wander=np.full_like(elapsed, 2 * wander),
    )


def global_time(line: Line, local_s: Array) -> Array:
    """The server's time at a local reading, shape (nodes,) or (times, nodes)."""
    return local_s + line.offset_s + line.rate * (local_s - line.local_s)


def error_bound(line: Line, local_s: Array) -> Array:
    """Most by which `global_time` can be wrong at a local reading, of the same shape."""
    # The reading that was kept is up to half a round trip from the moment that it stands for.
    elapsed = np.abs(local_s - line.local_s) + line.bound_s
    growth = line.rate_bound + line.wander
    # Local seconds are not true ones: the growth itself is that much longer or shorter.
    return line.bound_s + growth * (1 + growth + np.abs(line.rate)) * elapsed
