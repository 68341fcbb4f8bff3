"""Step 1: the number of streams that a host sustains, itself or with instances on it.

Of a video in segments it is that of viewers who always take the highest rate. After that, as many
viewers and more choose their rates.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from statistics import mean

import msgspec

from aferir.clouds.simulated import SimulatedCloud, address_of
from aferir.elastic import rates
from aferir.elastic.node import Node, native_node
from aferir.elastic.profile import Profile, profiled
from aferir.elastic.video import Video
from aferir.elastic.viewers import Viewing, Watched
from aferir.elastic.watching import watch
from aferir.model.record import Sample, Series, Warning
from aferir.programs.figures import Figures
from aferir.programs.others import Others

PROGRAM = "elastic-capacity"
_MOST_VIOLATED = 0.01
"""Largest share of viewers with a violation at which streams still count as sustained: single
violations happen by chance.
"""
_ARRIVING_S = 2.0
_BEYOND = (1.0, 1.5, 2.0, 3.0)
"""Numbers of viewers who choose their rates, relative to the streams of the highest rate."""
_GUESS_STREAMS = 500.0
_MOST_STREAMS = 20_000.0
_HEADERS = 1448 / 1514
"""Share of payload in a full Ethernet frame with TCP time stamps."""


class Trial(msgspec.Struct, frozen=True):
    """One trial: a number of simultaneous streams, and the results of their viewers."""

    streams: int
    violated: int
    lost: int
    """Streams that were not served to the end."""
    own_violations: int
    pace: float | None
    """Rate at which video arrived relative to its bit rate, see `pace`. Below 1, a long enough
    video stalls.
    """

    @property
    def sustained(self) -> bool:
        """Whether all streams were served in time, and could be served without end."""
        in_time = self.violated <= _MOST_VIOLATED * self.streams
        return self.lost == 0 and in_time and (self.pace is None or self.pace >= 1.0)


def pace(seen: Sequence[Watched], bitrate_bps: float) -> float | None:
    """Rate at which video arrived while all viewers watched, relative to its bit rate.

    None if there was no full second in which all of them watched.
    """
    came_bps = 0.0
    for one in seen:
        ends = one.streaming_by_second
        full = [k for k in range(1, len(ends)) if ends[k - 1] == ends[k] == one.clients]
        if not full:
            return None
        came_bps += 8 * mean(one.bytes_by_second[k] for k in full)
    return came_bps / (bitrate_bps * sum(one.clients for one in seen))


async def search(
    sustains: Callable[[int], Awaitable[bool]],
    *,
    guess: float,
    resolution: float,
    most: float = _MOST_STREAMS,
) -> int:
    """Largest number that is sustained, within a share of `resolution`; 0 if none is.

    Moves from the guess in growing steps until the answer changes, then bisects.
    """
    low, high = 0.0, most + 1
    step, value = resolution, max(1.0, min(guess, most))
    while high - low > max(1.0, resolution * low):
        if await sustains(int(value)):
            low = int(value)
        else:
            high = int(value)
        if high > most:
            value = min(most, max(low + 1, low * (1 + step)))
        elif low == 0:
            value = max(1.0, high * (1 - min(step, 0.5)))
        else:
            value = (low + high) / 2
        if value in (low, high):
            break
        step *= 2
    return int(low)


def measure(
    servers: AbstractContextManager[Sequence[str]],
    video: Video,
    *,
    instances: int,
    rate_bps: float,
    viewing: Viewing,
    resolution: float,
    profile_in: Path | None = None,
    elsewhere: Others | None = None,
) -> Figures:
    """Search for the capacity of a host whose `servers` have URLs, one for each instance.

    `instances`: 0 if the host itself serves. `rate_bps`: rate of its uplink in bit/s, 0: unknown.
    `profile_in`: folder for a CPU profile, taken while the host sustains its capacity. `elsewhere`:
    hosts of the viewers, None: this one. NGINX sends a second of video ahead. If the
    host lacks a share s of the rate, viewers therefore notice it only after (1 + startup) / s
    seconds; the pace shows it as soon as all viewers have watched together for some seconds.
    """
    began = time.perf_counter()
    trials: list[Trial] = []
    highest = msgspec.structs.replace(viewing, rule="highest") if video.rates_bps else viewing
    guess = 0.97 * _HEADERS * rate_bps / video.bitrate_bps if rate_bps else _GUESS_STREAMS

    async def attempt(urls: Sequence[str], streams: int, watched: Viewing) -> list[Watched]:
        return await _try(urls, streams, watched, video.seconds, elsewhere)

    async def search_with(urls: Sequence[str]) -> int:
        async def sustains(streams: int) -> bool:
            # Other activity on this machine may spoil one trial, but rarely two in a row.
            for _ in range(2):
                trials.append(_judged(await attempt(urls, streams, highest), video))
                if trials[-1].sustained:
                    return True
            return False

        return await search(sustains, guess=max(guess, len(urls)), resolution=resolution)

    with servers as urls:
        streams = asyncio.run(search_with(urls))
        seen = Profile()
        if profile_in is not None and streams:
            with profiled(profile_in) as seen:
                asyncio.run(attempt(urls, streams, highest))
        more = [round(share * streams) for share in _BEYOND if streams and video.rates_bps]
        beyond = [asyncio.run(attempt(urls, number, viewing)) for number in more]
    return Figures(
        program=PROGRAM,
        samples=(
            Sample("streams", float(streams), "1"),
            Sample("streams_per_instance", streams / max(1, instances), "1"),
            Sample("goodput_bps", streams * video.bitrate_bps / 8, "B/s"),
            Sample("trials", float(len(trials)), "1"),
            Sample("duration_s", time.perf_counter() - began, "s"),
        ),
        series=(_curve(trials), *_beyond(beyond), *seen.series),
        doubts=(*_doubts(trials), *seen.doubts),
    )


def _doubts(trials: Sequence[Trial]) -> Iterator[Warning]:
    own = sum(trial.own_violations for trial in trials)
    if own:
        said = f"{own} times the viewers' program was itself too late to tell"
        yield Warning("own-violations", said, "stop what else runs on this machine")
    if not any(trial.sustained for trial in trials):
        said = "not a single stream was sustained, and nothing is kept for elastic-movie"
        yield Warning("no-stream", said, "stop what else runs on this machine, and measure again")
    if any(trial.pace is None and trial.lost == 0 for trial in trials):
        said = "there was no second in which all watched: buffers may hide what is missing"
        yield Warning("video-too-short", said, "a video of ten seconds at least")


def _curve(trials: Sequence[Trial]) -> Series:
    """Share of viewers with a violation or a lost stream, by streams (the last trial of each)."""
    by_streams = {trial.streams: trial for trial in trials}
    return Series(
        metric="affected_share",
        unit="1",
        values=tuple((by_streams[n].violated + by_streams[n].lost) / n for n in sorted(by_streams)),
        along="streams",
        at=tuple(float(n) for n in sorted(by_streams)),
    )


def native_host(cloud: SimulatedCloud, video: Video, path: Path) -> AbstractContextManager[Node]:
    """NGINX on the first simulated host itself, which sends the video at `path`."""
    host = cloud.hosts[0]
    address = address_of(host.number, 0)
    return native_node(path, sent_bps=video.limit_bps, address=address, inside=host.namespace)


@contextlib.contextmanager
def simulated(
    cloud: SimulatedCloud, video: Video, path: Path, instances: int
) -> Iterator[list[str]]:
    """URLs of instances on the first simulated host, or of NGINX on this host itself.

    They, or NGINX, send the video at `path`.
    """
    if instances == 0:
        with native_host(cloud, video, path) as node:
            yield [node.url]
        return
    made = [cloud.create() for _ in range(instances)]
    try:
        yield [server.url for server in made]
    finally:
        for server in made:
            cloud.delete(server.name)


def _beyond(trials: Sequence[Sequence[Watched]]) -> tuple[Series, ...]:
    """Mean rate, and share of the time in which the picture stood still, by viewers."""
    if not trials:
        return ()
    at = tuple(float(sum(one.clients for one in seen)) for seen in trials)
    columns = {
        ("mean_rate_bps", "bit/s"): rates.mean_rate_bps,
        ("stalled_share", "1"): rates.stalled_share,
    }
    return tuple(
        Series(
            metric=metric,
            unit=unit,
            values=tuple(figure(seen) for seen in trials),
            along="streams",
            at=at,
        )
        for (metric, unit), figure in columns.items()
    )


async def _try(
    urls: Sequence[str], streams: int, viewing: Viewing, video_s: float, elsewhere: Others | None
) -> list[Watched]:
    shares = [streams // len(urls) + (k < streams % len(urls)) for k in range(len(urls))]
    places = await asyncio.gather(
        *(
            watch(
                url,
                viewing.options,
                clients=share,
                interval_s=_ARRIVING_S / share,
                limit_s=60 + 10 * video_s,
                elsewhere=elsewhere,
            )
            for url, share in zip(urls, shares, strict=True)
            if share
        )
    )
    return [one for place in places for one in place]


def _judged(seen: Sequence[Watched], video: Video) -> Trial:
    return Trial(
        streams=sum(one.clients for one in seen),
        violated=sum(one.clients_with_violations for one in seen),
        lost=sum(one.clients - one.served for one in seen),
        own_violations=sum(one.own_violations for one in seen),
        pace=rates.pace(seen) if video.rates_bps else pace(seen, video.bitrate_bps),
    )
