"""Figures of one measurement; pure functions, except `measure`, which makes the measurement."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise

import msgspec

from aferir.aggregation.places import Place
from aferir.aggregation.programs import Samples
from aferir.aggregation.traffic import Outcome, Task
from aferir.model.network import Event, Kind, name_of

PROGRAM = "aggregation"
_HEADERS = 52
"""Bytes of the IPv4 and TCP headers (with time stamps) in each packet."""


class Curve(msgspec.Struct, frozen=True):
    """Throughput of one stream or link in bytes per second; `at_s` are the starts of intervals."""

    name: str
    at_s: tuple[float, ...]
    bps: tuple[float, ...]


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of one measurement; printed as one line of JSON."""

    program: str = PROGRAM
    verified: bool = True
    """Whether every byte arrived as it was sent; otherwise there is no result."""
    method: str
    links: int
    network: Kind
    duration_s: float
    """Seconds from the first byte sent until the last one was acknowledged."""
    bytes: int
    throughput_bps: float
    """Application bytes per second, of all streams together."""
    stream_bps: tuple[float, ...]
    fairness: float
    """Jain's index of the streams: 1 if all have equal rates, 1/n if one of n has everything."""
    sent_segments: int
    retransmitted_segments: int
    spurious_segments: int
    """Retransmissions of segments that had arrived, as the receiver reports (DSACK, RFC 2883)."""
    out_of_order_segments: int
    """Number of segments that arrived before a segment that was sent earlier."""
    dropped_packets: int
    """Packets dropped at full queues of links."""
    lost_bytes: int
    """Bytes retransmitted because they were lost: dropped, or sent into a link that was cut."""
    gap_s: float
    """Longest time in seconds in which nothing arrived on any connection of a stream."""
    gap_after_s: float
    """Start of the longest gap, in seconds from the first byte."""
    link_bytes: dict[str, int]
    """Bytes of each link of host1, sent and received."""
    links_up: int | None = None
    """Links of a bond that are up, according to its driver; under 802.3ad, links of the
    aggregator."""
    moments: dict[str, float] = {}
    """Times at which links are cut and restored, in seconds on the time axis of the curves."""
    streams: tuple[Curve, ...] = ()
    link_curves: tuple[Curve, ...] = ()


def measure(place: Place, task: Task) -> Result:
    """Create the network, send, and remove it again. Errors: those of `traffic.read`."""
    return result(task, place.measure(task), place.kind)


def result(task: Task, outcome: Outcome, kind: Kind) -> Result:
    """The figures of a measurement from what its programs printed."""
    streams = tuple(r.bytes / r.duration_s if r.duration_s > 0 else 0.0 for r in outcome.received)
    senders = {
        stream.sender: sent for stream, sent in zip(outcome.streams, outcome.sent, strict=True)
    }
    receivers = {s.receiver: r for s, r in zip(outcome.streams, outcome.received, strict=True)}
    # Counters are per host, not per program, so each host is read once, from its last program.
    sent = _sum([end.counters for end in senders.values()])
    received = _sum([end.counters for end in receivers.values()])
    again = sent.get("TcpRetransSegs", 0)
    # Where the network itself makes copies, as broadcast does, these are reported as well.
    spurious = min(sent.get("TcpExtTCPDSACKRecv", 0), again)
    segment = task.network.mtu - _HEADERS
    worst = max(outcome.received, key=lambda end: end.gap_s)
    bond = outcome.bond
    return Result(
        method=name_of(task.method),
        links=task.network.links,
        network=kind,
        duration_s=max(end.duration_s for end in outcome.sent),
        bytes=sum(end.bytes for end in outcome.received),
        throughput_bps=sum(streams),
        stream_bps=streams,
        fairness=fairness(streams),
        sent_segments=sent.get("TcpOutSegs", 0),
        retransmitted_segments=again,
        spurious_segments=spurious,
        out_of_order_segments=received.get("TcpExtTCPOFOQueue", 0),
        dropped_packets=outcome.dropped,
        lost_bytes=(again - spurious) * segment,
        gap_s=worst.gap_s,
        gap_after_s=worst.gap_after_s,
        link_bytes={
            name: outcome.link_sent[name] + outcome.link_received[name]
            for name in outcome.link_sent
        },
        links_up=None if bond is None else bond.ports or bond.links_up,
        moments={_words(event): event.at_s for event in task.events},
        streams=_stream_curves(outcome, task.traffic.interval_s),
        link_curves=_link_curves(outcome, task.traffic.interval_s),
    )


def _words(event: Event) -> str:
    return f"eth{event.link} {'works again' if event.up else 'is cut'}"


def fairness(rates: Sequence[float]) -> float:
    """Jain's index (Jain, Chiu and Hawe 1984): 1 if all rates are equal; 1 for no rates."""
    squares = sum(rate * rate for rate in rates)
    return 1.0 if squares == 0 else sum(rates) ** 2 / (len(rates) * squares)


def _stream_curves(outcome: Outcome, step_s: float) -> tuple[Curve, ...]:
    found = []
    for number, (stream, end) in enumerate(zip(outcome.streams, outcome.received, strict=True), 1):
        if end.traffic is not None:
            name = f"{number}: {stream.sender} to {stream.receiver}"
            start_s = _first_traffic_s(end.traffic)
            found.append(_curve(name, end.traffic, end.traffic.interval_bytes, step_s, start_s))
    return tuple(found)


def _link_curves(outcome: Outcome, step_s: float) -> tuple[Curve, ...]:
    """Curves of the links of host1, as sampled by a program there.

    () if all programs run in containers.
    """
    for ends, field in (
        (zip((s.sender for s in outcome.streams), outcome.sent, strict=True), "link_sent"),
        (
            zip((s.receiver for s in outcome.streams), outcome.received, strict=True),
            "link_received",
        ),
    ):
        for host, end in ends:
            if host == "host1" and end.traffic is not None:
                rows = zip(end.traffic.link_names, getattr(end.traffic, field), strict=True)
                return tuple(
                    _curve(name, end.traffic, row, step_s)
                    for name, row in rows
                    if name in outcome.link_sent
                )
    return ()


def _curve(
    name: str, samples: Samples, grown: Sequence[int], step_s: float, start_s: float = 0.0
) -> Curve:
    """Rates in intervals of `step_s` seconds from `start_s` on, interpolated from the samples.

    A busy machine samples late, but curves of repetitions can be combined only if their intervals
    are equal.
    """
    if not samples.at_s:
        return Curve(name, (), ())
    times = (0.0, *samples.at_s)
    totals = (0.0, *accumulate(float(count) for count in grown))
    count = math.floor((times[-1] - start_s) / step_s + 1e-6)
    edges = [_at(start_s + step_s * k, times, totals) for k in range(count + 1)]
    return Curve(
        name,
        tuple(round(step_s * k, 3) for k in range(count)),
        tuple((b - a) / step_s for a, b in pairwise(edges)),
    )


def _at(time_s: float, times: Sequence[float], totals: Sequence[float]) -> float:
    """Total at a time, interpolated linearly between samples."""
    place = min(max(bisect_right(times, time_s), 1), len(times) - 1)
    before, after = times[place - 1], times[place]
    part = (time_s - before) / (after - before) if after > before else 1.0
    return totals[place - 1] + (totals[place] - totals[place - 1]) * min(part, 1.0)


def _first_traffic_s(samples: Samples) -> float:
    """Start of the first interval with traffic; before it, a receiver waits for its sender."""
    starts = (0.0, *samples.at_s)
    return next((start for start, n in zip(starts, samples.interval_bytes, strict=False) if n), 0.0)


def _sum(parts: Iterable[dict[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for part in parts:
        for name, value in part.items():
            total[name] = total.get(name, 0) + value
    return total
