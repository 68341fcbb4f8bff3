"""Estimates offset and rate from exchanges of messages, with a bound of the error over time.

An offset is what must be added to the local reading to get the server's. One exchange gives an
offset with an error of at most half the round trip (Cristian 1989), whatever the delays were. A
second one gives the rate; from then on the error grows with the uncertainty of the rate and with
the wander of the oscillators, not with their difference.
"""

from __future__ import annotations

import msgspec
import numpy as np

from aferir.clock.delays import Array


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one exchange at the client; all arrays have shape (nodes,)."""

    local_s: Array
    """Reading of the client's clock in the middle of the exchange that was used, in s."""
    offset_s: Array
    """Server's minus client's reading at that time, in s."""
    bound_s: Array
    """Largest error of the offset, in s."""
    excess_s: Array
    """Largest part of the offset's error that is due to delays above the path's floor, in s; see
    `path_excess`.
    """


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A global clock: `local + offset + rate * elapsed`; all arrays have shape (nodes,)."""

    local_s: Array
    offset_s: Array
    rate: Array
    bound_s: Array
    rate_bound: Array
    """Largest error of the mean rate between the two exchanges."""
    wander: Array
    """Largest deviation of the rate from the mean rate between the two exchanges."""


def offset_of_trip(pre_s: Array, server_s: Array, post_s: Array) -> tuple[Array, Array]:
    """Offset and its bound from the three readings of one exchange (Dutra 2015, code 6.4).

    The server read its clock between `pre` and `post`, so the bound is half the round trip.
    """
    # Differences first: the clocks may have started years apart.
    half = (post_s - pre_s) / 2
    return (server_s - pre_s) - half, half


def offset_of_directions(
    forward_s: Array, back_s: Array, *, span_s: Array, rate_limit: float
) -> tuple[Array, Array]:
    """Offset and its bound from the smallest difference of readings in each direction.

    `forward_s` is the smallest (server - pre), `back_s` the smallest (post - server). If they are
    from two exchanges, `span_s` apart, the offset is that in the middle between both, and the
    clocks' drift in between is added to the bound. Without drift, the bound is at most that of the
    exchange with the smallest round trip.
    """
    return (forward_s - back_s) / 2, (forward_s + back_s + rate_limit * span_s) / 2


def path_excess(deviation_s: Array, gap_s: Array, least_s: Array, other_least_s: Array) -> Array:
    """Largest error of an offset by jitter, on a path whose floors do not change.

    `least_s` is the sum of the smallest delays of both directions, `gap_s` the time by which the
    used exchange exceeded it (0 if the smallest delays themselves are used). The error is half of
    three parts together. The gap: all of it may be in one direction. Three standard deviations of
    the smallest round trips: after twenty exchanges, the smallest delays are within that of the
    path's best. And the time by which the smallest delays exceed those of the other exchange,
    `other_least_s`, as it is jitter.
    """
    return (3 * deviation_s + gap_s + np.maximum(least_s - other_least_s, 0)) / 2


def first_line(look: Look, *, rate_limit: float) -> Line:
    """Clock after one exchange: the rate is only known to be within the limit."""
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
    """Clock after two exchanges, which give its rate too.

    `wander` is the largest deviation of the rate from its nominal value, so the rate can deviate
    from its mean by twice as much. On a `repeatable` path both exchanges have the same floors, and
    the error that they cause in both offsets cancels in the rate; otherwise the full bounds count.
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
    """Server's time at a local reading, in s, shape (nodes,) or (times, nodes)."""
    return local_s + line.offset_s + line.rate * (local_s - line.local_s)


def error_bound(line: Line, local_s: Array) -> Array:
    """Largest error of `global_time` at a local reading, in s, of the same shape."""
    # The reading is up to half a round trip away from the instant that it represents.
    elapsed = np.abs(local_s - line.local_s) + line.bound_s
    growth = line.rate_bound + line.wander
    # Local seconds are longer or shorter than true ones, by the rate and its error.
    return line.bound_s + growth * (1 + growth + np.abs(line.rate)) * elapsed
