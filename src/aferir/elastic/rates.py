"""Figures of viewers who watch a video in segments: their rates, and how often these changed."""

from __future__ import annotations

from collections.abc import Sequence

from aferir.elastic.viewers import Watched
from aferir.model.record import Sample, Series


def mean_rate_bps(seen: Sequence[Watched]) -> float:
    """Mean bit rate of the video that all viewers fetched; 0 if there was none."""
    came_s = sum(sum(one.seconds_at_rate) for one in seen)
    bits = sum(
        rate * seconds
        for one in seen
        for rate, seconds in zip(one.rates_bps, one.seconds_at_rate, strict=True)
    )
    return bits / came_s if came_s else 0.0


def stalled_share(seen: Sequence[Watched]) -> float:
    """Share of the viewers' time in which the picture stood still; 0 if no video came."""
    came_s = sum(sum(one.seconds_at_rate) for one in seen)
    stalled_s = sum(one.stalled_s for one in seen)
    return stalled_s / (came_s + stalled_s) if came_s else 0.0


def of_rates(seen: Sequence[Watched]) -> tuple[Sample, ...]:
    """Mean rate in bit/s, changes of rate, and stalls; () for a video in one file."""
    if not any(one.rates_bps for one in seen):
        return ()
    return (
        Sample("mean_rate_bps", mean_rate_bps(seen), "bit/s", better="higher"),
        Sample("switches", float(sum(one.switches for one in seen)), "1"),
        Sample("stalls", float(sum(one.violations for one in seen)), "1", better="lower"),
    )


def rate_shares(seen: Sequence[Watched]) -> tuple[Series, ...]:
    """Share of the fetched video's time at each bit rate; () for a video in one file."""
    seconds_at: dict[float, float] = {}
    for one in seen:
        for rate, seconds in zip(one.rates_bps, one.seconds_at_rate, strict=True):
            seconds_at[rate] = seconds_at.get(rate, 0.0) + seconds
    came_s = sum(seconds_at.values())
    if not came_s:
        return ()
    rates = sorted(seconds_at)
    return (
        Series(
            metric="time_share",
            unit="1",
            values=tuple(seconds_at[rate] / came_s for rate in rates),
            along="rate_bps",
            along_unit="bit/s",
            at=tuple(rates),
        ),
    )


def pace(seen: Sequence[Watched]) -> float | None:
    """Seconds of video that arrived in each second from the first picture to the last segment.

    Of viewers who were served; None if no video came. Below 1, a long enough video stalls, however
    much is buffered.
    """
    came_s = sum(sum(one.seconds_at_rate) for one in seen)
    lost_s = sum(one.stalled_s - one.gained_s for one in seen)
    return came_s / (came_s + lost_s) if came_s + lost_s > 0 else None
