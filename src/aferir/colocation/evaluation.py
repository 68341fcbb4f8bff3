"""What an evaluation of policies is told by: distributions, and the frontier of tail and batch."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from aferir.colocation.histogram import Histogram
from aferir.model.record import Series

SHARES = (
    *(round(0.05 * step, 2) for step in range(1, 20)),
    0.98,
    0.99,
    0.995,
    0.999,
)
"""Where distributions are read: the same for all, so that repetitions can be pooled."""


class Point(msgspec.Struct, frozen=True):
    """What one policy gave: the quantile of the latency, and batch work relative to it alone."""

    latency_s: float
    batch_share: float


def distribution(latencies: Histogram, label: str) -> Series | None:
    """Latency by the share of requests that do not exceed it.

    That is the cumulative distribution on its side, at places that all repetitions share. Shares
    that the answers are too few for are left out; None where that is all of them.
    """
    shares = tuple(share for share in SHARES if latencies.total * (1 - share) >= 5)
    if not shares:
        return None
    return Series(
        metric="latency_s",
        unit="s",
        values=tuple(latencies.value(share) for share in shares),
        along="share_of_requests",
        at=shares,
        label=label,
    )


def by_policy(points: Mapping[str, Point]) -> tuple[Series, Series]:
    """Latency and batch work of each policy, as two pictures with the policies in one order."""
    names = tuple(sorted(points, key=lambda name: (points[name].latency_s, name)))
    return (
        Series(
            metric="latency_quantile_s",
            unit="s",
            values=tuple(points[name].latency_s for name in names),
            along="policy",
            at=names,
        ),
        Series(
            metric="batch_share",
            unit="1",
            values=tuple(points[name].batch_share for name in names),
            along="policy",
            at=names,
        ),
    )


def frontier(points: Mapping[str, Point]) -> tuple[str, ...]:
    """Policies that no other one beats in both, from the shortest latency to the most batch work.

    The other one has to be at least as good in both and better in one.
    """
    order = sorted(points, key=lambda name: (points[name].latency_s, -points[name].batch_share))
    found: list[str] = []
    for name in order:
        best = points[found[-1]] if found else None
        one = points[name]
        if best is None or one.batch_share > best.batch_share or one == best:
            found.append(name)
    return tuple(found)


def frontier_series(points: Mapping[str, Point], label: str = "frontier") -> Series:
    """The frontier as a curve: latency along batch work."""
    chosen = sorted((points[name] for name in frontier(points)), key=lambda one: one.batch_share)
    return Series(
        metric="latency_quantile_s",
        unit="s",
        values=tuple(one.latency_s for one in chosen),
        along="batch_share",
        at=tuple(one.batch_share for one in chosen),
        label=label,
    )
