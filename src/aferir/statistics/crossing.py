"""Finds where two curves cross, using only places at which their quartile ranges do not overlap."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class Band(msgspec.Struct, frozen=True):
    """First and third quartile of the values of one curve at one place."""

    at: float
    low: float
    high: float


class Crossing(msgspec.Struct, frozen=True):
    """Two successive decided places of two curves whose orders there are opposite."""

    after: float
    before: float
    higher: bool
    """True if the first curve is above the second one from the second of the two places on."""


def crossings(first: Sequence[Band], second: Sequence[Band]) -> tuple[Crossing, ...]:
    """Every change of the order of two curves along their common places, in rising order.

    If the quartile ranges overlap at a place, the order there is undecided: a crossing lies between
    the last place with one order and the first place with the other. If each curve has one value at
    each place, the order is decided everywhere.
    """
    others = {band.at: band for band in second}
    found, last = [], None
    for band in sorted(first, key=lambda one: one.at):
        other = others.get(band.at)
        if other is None or not (band.low > other.high or band.high < other.low):
            continue
        higher = band.low > other.high
        if last is not None and last[1] != higher:
            found.append(Crossing(last[0], band.at, higher))
        last = band.at, higher
    return tuple(found)
