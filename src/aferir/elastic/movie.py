"""Step 3, ElasticMovie itself: viewers, Front and Nodes on a cloud (Dutra 2015, 4.3 and 5.4)."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import numpy as np

from aferir.clouds.base import Cloud, Server
from aferir.elastic import http
from aferir.elastic.arrivals import arrivals
from aferir.elastic.audience import Audience, Here, Seen, health, unhealthy
from aferir.elastic.door import Limits
from aferir.elastic.front import Books, Settings
from aferir.elastic.ledger import Ledger
from aferir.elastic.metrics import Trace, elasticity
from aferir.elastic.rates import of_rates, rate_shares
from aferir.elastic.service import Service
from aferir.elastic.simulate import Load
from aferir.elastic.site import CloudSite
from aferir.elastic.viewers import Viewing, Watched
from aferir.errors import TimeoutExpired
from aferir.model.record import Sample, Series, Warning
from aferir.programs.figures import Figures

PROGRAM = "elastic-movie"
_GRACE_S = 5.0
"""Seconds by which a viewer's patience exceeds Front's, so that a viewer gives up by itself only if
Front does not answer.
"""
_RELEASES_S = 180.0
"""Seconds after the last viewer within which pending instances must be released."""
_LATE, _LATE_S = 0.1, 0.05
"""A warning is issued if a viewer's own host delays it by more than this share of its patience, and
by more than this many seconds.
"""
_POINTS = 500
"""Largest number of points of a curve over time."""


class Show(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions of one run of ElasticMovie."""

    load: Load
    policy: Settings
    viewing: Viewing
    seed: tuple[int, ...]
    front: str = "127.0.0.1"
    """Address on which Front listens, and to which viewers send requests."""
    allocation_s: float = Limits().allocation_s
    """Seconds after which an allocation counts as failed."""
    expected_s: tuple[float, ...] = ()
    """Allocation times in seconds from step 2; () if unknown."""


def intended(show: Show) -> tuple[float, ...]:
    """Arrival times of the viewers in seconds from the start; the same for the same seed."""
    load = show.load
    rng = np.random.default_rng(list(show.seed))
    times = arrivals(load.shape, clients=load.clients, interarrival_s=load.interarrival_s, rng=rng)
    return tuple(float(time) for time in times)


def play(
    show: Show,
    cloud: Cloud,
    folder: Path,
    *,
    live: socket.socket | None = None,
    tell: Callable[[str], None] = print,
    audience: Audience | None = None,
) -> Figures:
    """Run the service from the first viewer to the last release.

    `folder`: place of the ledger; `live`: socket for the live page, whose URL is passed to `tell`;
    `audience`: by default all viewers run here. Errors: AferirError if the service or the viewers'
    program cannot run, or instances do not end; failures within the run are counted.
    """
    with CloudSite(cloud) as site, Ledger(folder / "ledger", 0.0) as ledger:
        # The video's duration, and as much again for viewers that stall.
        stay_s = 2 * show.load.video_s + 60.0
        limits = Limits(stay_s=stay_s, allocation_s=show.allocation_s)
        service = Service(show.policy, site, ledger, limits)
        if live is not None:
            port = live.getsockname()[1]
            tell(f"http://127.0.0.1:{port}/live?token={service.token} shows what goes on")
        seen = asyncio.run(_run(show, service, audience or Here(folder), live))
        return _figures(show, service, site.servers, seen, ledger)


async def _run(
    show: Show, service: Service, audience: Audience, live: socket.socket | None
) -> Seen:
    times_s, ends_s = intended(show), show.allocation_s + _RELEASES_S
    port = await service.start(show.front, also=live)
    try:
        seen = await audience.watch(
            http.url(show.front, port),
            [
                *show.viewing.options,
                *("--patience", str(show.policy.patience_s + _GRACE_S)),
            ],
            times_s,
            limit_s=120.0 + times_s[-1] + show.policy.patience_s + 5 * show.load.video_s,
        )
        try:
            await asyncio.wait_for(service.settled(), ends_s)
        except TimeoutError:
            said = f"instances still came or went {ends_s:g} s after the last viewer had gone"
            raise TimeoutExpired(said, remedy="see what the cloud says of them") from None
    finally:
        await service.stop()
    return seen


def _figures(
    show: Show, service: Service, servers: Sequence[Server], seen: Seen, ledger: Ledger
) -> Figures:
    books, trace, watched = ledger.books(), service.trace(), seen.watched
    settled = books.served + books.abandoned + books.blocked + books.failed
    balanced = books.received == settled and watched.clients == show.load.clients
    return Figures(
        program=PROGRAM,
        verified=balanced,
        error="" if balanced else f"clients are missing from the books: {books}",
        samples=(
            *_of_clients(show, books, watched),
            *_of_instances(service, servers, ledger),
            *_of_elasticity(trace, show.policy.clients_per_node),
            *_of_places(seen),
        ),
        series=(
            *_demand_and_supply(trace, show.policy.clients_per_node),
            _over_time(
                "bandwidth_bps",
                "B/s",
                tuple(float(second) for second in range(len(watched.bytes_by_second))),
                watched.bytes_by_second,
            ),
            *rate_shares([watched]),
            *(health(seen.parts) if seen.parts else ()),
        ),
        doubts=_doubts(show, books, seen),
    )


def _of_clients(show: Show, books: Books, watched: Watched) -> tuple[Sample, ...]:
    """Figures on clients of Dutra 2015, 4.2, and the viewers' experience.

    These are the requests (QtRvS), the percentages of clients with a violation (PcAf) and of
    blocked ones (PcBl), and the aggregate bandwidth (AggBand).
    """
    received = max(1, books.received)
    streaming = sum(1 for count in watched.streaming_by_second if count > 0)
    return (
        Sample("duration_s", watched.duration_s, "s"),
        Sample("requests", float(books.received), "1"),
        Sample("affected_percent", 100 * watched.clients_with_violations / received, "%"),
        Sample("blocked_percent", 100 * books.blocked / received, "%", better="lower"),
        Sample("aggregate_bps", watched.received_bytes / max(1, streaming), "B/s"),
        Sample("served", float(books.served), "1"),
        Sample("abandoned", float(books.abandoned), "1"),
        Sample("blocked", float(books.blocked), "1"),
        Sample("failed", float(books.failed), "1"),
        Sample("startup_median_s", watched.startup_median_s, "s"),
        Sample("startup_p95_s", watched.startup_p95_s, "s"),
        Sample("stalled_s", watched.stalled_s, "s"),
        Sample("clients_per_node", float(show.policy.clients_per_node), "1"),
        *of_rates([watched]),
    )


def _of_instances(
    service: Service, servers: Sequence[Server], ledger: Ledger
) -> tuple[Sample, ...]:
    made = [
        Sample("allocations", float(ledger.counts["allocated"]), "1"),
        Sample("allocations_failed", float(ledger.counts["allocation-failed"]), "1"),
        Sample("nodes_lost", float(ledger.counts["node-lost"]), "1"),
    ]
    if service.allocations_s:
        made.append(Sample("tar_s", float(np.mean(service.allocations_s)), "s"))
    if service.releases_s:
        made.append(Sample("tlr_s", float(np.mean(service.releases_s)), "s"))
    for k, name in enumerate(("TeF", "TcI", "TiI")):
        known = [s.phases[k].seconds for s in servers if len(s.phases) > k]
        values = [seconds for seconds in known if seconds is not None]
        if values:
            made.append(Sample(f"{name.lower()}_s", float(np.mean(values)), "s"))
    return tuple(made)


def _of_elasticity(trace: Trace, clients_per_node: int) -> tuple[Sample, ...]:
    found = elasticity(trace, clients_per_node)
    units = {"node_seconds": "s", "jitter": "Hz"}
    names = {"jitter": "jitter_hz", "node_seconds": "instances_s"}
    return tuple(
        Sample(names.get(name, name), value, units.get(name, "1"))
        for name, value in msgspec.structs.asdict(found).items()
    )


def _of_places(seen: Seen) -> tuple[Sample, ...]:
    if not seen.parts:
        return ()
    return (
        Sample("viewers_hosts", float(len({part.host for part in seen.parts})), "1"),
        Sample("start_uncertainty_s", max(part.uncertainty_s for part in seen.parts), "s"),
    )


def _demand_and_supply(trace: Trace, clients_per_node: int) -> tuple[Series, ...]:
    """Number of clients, capacity of the instances in clients, and number of instances, over time.

    The first two are drawn in one picture, as Dutra 2015 draws them for the best and the worst run
    (Figures 5.13 to 5.23): where capacity is below the clients, some wait.
    """
    room = [clients_per_node * nodes for nodes in trace.nodes]
    wanted = _over_time("clients", "1", trace.times_s, trace.clients)
    offered = _over_time("clients", "1", trace.times_s, room)
    return (
        msgspec.structs.replace(wanted, label="served or waiting"),
        msgspec.structs.replace(offered, label="room of the instances"),
        _over_time("instances", "1", trace.times_s, trace.nodes),
    )


def _over_time(metric: str, unit: str, times_s: Sequence[float], values: Sequence[float]) -> Series:
    """The step function sampled at equal intervals from 0 on, with at most 500 points."""
    last_s = times_s[-1] if times_s else 0.0
    step_s = max(0.1, last_s / _POINTS)
    at = step_s * np.arange(1 + int(last_s / step_s))
    chosen = np.searchsorted(np.asarray(times_s), at, side="right")
    # Before the first event there was nothing.
    kept = np.concatenate([[0.0], np.asarray(values, dtype=float)])[chosen]
    return Series(
        metric=metric,
        unit=unit,
        values=tuple(kept.tolist()),
        along="time_s",
        along_unit="s",
        at=tuple(at.tolist()),
    )


def _doubts(show: Show, books: Books, seen: Seen) -> tuple[Warning, ...]:
    """Warnings if components were too slow, or if the counts of Front and the viewers differ."""
    found, watched = [], seen.watched
    if watched.own_violations:
        said = f"{watched.own_violations} violations are of the viewers' own machine"
        said += f": {unhealthy(seen.parts)}" if seen.parts else ""
        found.append(Warning("own-violations", said, "stop what else runs there"))
    if watched.worst_start_s > max(_LATE_S, _LATE * show.policy.patience_s):
        said = f"a viewer was let in {watched.worst_start_s:.2f} s after its moment by its own host"
        found.append(Warning("late-viewers", said, "stop what else runs there"))
    unsure_s = max((part.uncertainty_s for part in seen.parts), default=0.0)
    if unsure_s > show.load.interarrival_s:
        said = f"the clocks of the viewers' hosts agree to {unsure_s:.4f} s only"
        advice = "viewers of two hosts may have come in another order than was intended"
        found.append(Warning("clocks-differ", said, advice))
    theirs = (watched.served, watched.abandoned, watched.blocked, watched.failed)
    ours = (books.served, books.abandoned, books.blocked, books.failed)
    if theirs != ours:
        said = f"served, abandoned, blocked, failed: Front says {ours}, viewers say {theirs}"
        found.append(Warning("books-differ", said, "Front's count; see docs/guides/elastic.md"))
    slowest = max(show.expected_s, default=0.0)
    if slowest > show.policy.patience_s:
        said = f"an allocation took {slowest:.2f} s, and patience is {show.policy.patience_s:g} s"
        found.append(Warning("patience-below-latency", said, "the latency alone blocks clients"))
    return tuple(found)
