"""Computes figures that compare policies: latency distributions, batch work, time to settle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from aferir.colocation.histogram import Histogram
from aferir.colocation.settings import Sla
from aferir.model.record import Series

SHARES = (
    *(round(0.05 * step, 2) for step in range(1, 20)),
    0.98,
    0.99,
    0.995,
    0.999,
)
"""Shares at which distributions are read; all repetitions use the same ones, so that they can be
pooled.
"""


class Point(msgspec.Struct, frozen=True):
    """Result of one policy: the latency quantile, and batch work relative to the batch alone."""

    latency_s: float
    batch_share: float


def latency_metric(sla: Sla) -> str:
    """Name of the metric that the SLA bounds, such as `latency_p95_s`."""
    return f"latency_p{100 * sla.quantile:g}_s"


def bound(sla: Sla, like: Series) -> Series:
    """The SLA's bound as a constant line at the places of `like`, for the same chart."""
    values = (sla.bound_s,) * len(like.values)
    return msgspec.structs.replace(like, values=values, label=f"SLA: {1e3 * sla.bound_s:g} ms")


def distribution(latencies: Histogram, label: str) -> Series | None:
    """Latency as a function of the share of requests that do not exceed it.

    That is the inverse of the cumulative distribution, at points that all repetitions share. Points
    beyond which fewer than 5 responses lie are omitted; None if no point remains.
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


def by_policy(points: Mapping[str, Point], sla: Sla) -> tuple[Series, Series]:
    """Latency and batch work of each policy, as two series.

    The order is that of `points`, so that repetitions can be pooled.
    """
    names = tuple(points)
    return (
        Series(
            metric=latency_metric(sla),
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


def scatter(points: Mapping[str, Point], sla: Sla) -> tuple[Series, ...]:
    """Series with one point for each policy: latency over batch work."""
    return tuple(
        Series(
            metric=latency_metric(sla),
            unit="s",
            values=(one.latency_s,),
            along="batch_share",
            at=(one.batch_share,),
            label=name,
            kind="frontier",
        )
        for name, one in points.items()
    )


_SETTLED_S = 0.5


def settled_s(answers: Iterable[tuple[float, float]], sla: Sla, step_s: float) -> float:
    """Seconds from a step of the load until the last certain violation of the SLA has ended.

    `answers`: arrival time and latency of each, in seconds. A half second counts as violating if
    the lower end of the quantile's interval is above the bound, so that a few slow responses among
    few do not count.
    """
    slots = _by_slot((at - step_s, latency_s) for at, latency_s in answers if at >= step_s)
    broken = [
        slot
        for slot, latencies in slots.items()
        if (found := latencies.latency(sla.quantile)) is not None and found.low_s > sla.bound_s
    ]
    return (max(broken) + 1) * _SETTLED_S if broken else 0.0


def by_time(answers: Iterable[tuple[float, float]], label: str, sla: Sla) -> Series:
    """Latency quantile of the requests that arrived in each half second, as a series over time."""
    slots = _by_slot(answers)
    places = sorted(slots)
    return Series(
        metric=latency_metric(sla),
        unit="s",
        values=tuple(slots[place].value(sla.quantile) for place in places),
        along="time_s",
        along_unit="s",
        at=tuple(place * _SETTLED_S for place in places),
        label=label,
    )


def _by_slot(answers: Iterable[tuple[float, float]]) -> dict[int, Histogram]:
    slots: dict[int, Histogram] = {}
    for arrived, latency_s in answers:
        slots.setdefault(int(arrived / _SETTLED_S), Histogram()).add(latency_s)
    return slots
