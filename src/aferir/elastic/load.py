"""Load of a host's cores, and of its server's core, while viewers enter at a fixed interval."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from statistics import mean

import msgspec

from aferir.elastic.node import Node
from aferir.elastic.rates import of_rates, rate_shares
from aferir.elastic.video import Video
from aferir.elastic.viewers import Viewing, Watched
from aferir.elastic.watching import watch
from aferir.model.record import Sample, Series, Warning
from aferir.probes.load import Ticks, core_ticks
from aferir.programs.figures import Figures
from aferir.programs.others import Others

PROGRAM = "elastic-load"
_PERIOD_S = 1.0
"""Sampling period in s: the kernel counts ticks of 10 ms, so that a share is known to 1 %."""
_PROCESSOR = 36
"""Index of field `processor` in /proc/PID/stat, counted from the field after the name (proc(5))."""


class Look(msgspec.Struct, frozen=True):
    """CPU time of all cores at one time, and the core that the server last ran on."""

    at_s: float
    cores: Ticks
    server_core: int


class Loads(msgspec.Struct, frozen=True):
    """Loads in percent, one for each interval between samples; `at_s` are the intervals' ends."""

    at_s: tuple[float, ...]
    all_cores: tuple[float, ...]
    server_core: tuple[float, ...]


def loads(looks: Sequence[Look]) -> Loads:
    """Loads between samples; an interval is left out if the server's core had no tick in it."""
    found = []
    for before, after in itertools.pairwise(looks):
        passed = {
            core: (busy - before.cores[core][0], total - before.cores[core][1])
            for core, (busy, total) in after.cores.items()
            if core in before.cores
        }
        busy, total = passed.get(after.server_core, (0, 0))
        if total > 0:
            used, whole = (sum(ticks) for ticks in zip(*passed.values(), strict=True))
            found.append((after.at_s, 100.0 * used / whole, 100.0 * busy / total))
    at_s, every, server = zip(*found, strict=True) if found else ((), (), ())
    return Loads(at_s, every, server)


def measure(
    server: AbstractContextManager[Node],
    video: Video,
    *,
    viewers: int,
    interval_s: float,
    viewing: Viewing,
    elsewhere: Others | None = None,
) -> Figures:
    """Measure the load of this host's cores while `server` serves viewers to their end.

    `elsewhere`: hosts of the viewers, None: this one.
    """
    began = time.perf_counter()
    with server as node:
        look = _looker(node.pid)

        async def both() -> tuple[list[Watched], list[Look], float]:
            started = time.perf_counter()
            watching = asyncio.ensure_future(
                watch(
                    node.url,
                    viewing.options,
                    clients=viewers,
                    interval_s=interval_s,
                    limit_s=60 + viewers * interval_s + 10 * video.seconds,
                    elsewhere=elsewhere,
                )
            )
            looks = [look()]
            while not watching.done():
                await asyncio.wait([watching], timeout=_PERIOD_S)
                looks.append(look())
            return watching.result(), looks, time.perf_counter() - started

        seen, looks, whole_s = asyncio.run(both())
    late_s = whole_s - max(one.duration_s for one in seen)
    return _figures(loads(looks), seen, all_watch_s(seen, late_s), began)


def all_watch_s(seen: Sequence[Watched], late_s: float) -> tuple[float, float] | None:
    """Times in s between which all viewers of all places watched; None if they never did.

    `late_s`: largest time in s by which the viewers' program began later than the measurement.
    """
    full = [
        [end for end, watching in enumerate(one.streaming_by_second, 1) if watching == one.clients]
        for one in seen
    ]
    if not all(full):
        return None
    first, last = max(seconds[0] for seconds in full), min(seconds[-1] for seconds in full)
    return (first + late_s, float(last)) if first + late_s < last else None


def _figures(
    found: Loads, seen: Sequence[Watched], all_watch: tuple[float, float] | None, began: float
) -> Figures:
    first, last = all_watch or (0.0, 0.0)
    everybody = [place for place, at in enumerate(found.at_s) if first + _PERIOD_S <= at <= last]
    samples = [
        Sample("viewers_violated", float(sum(one.clients_with_violations for one in seen)), "1"),
        *of_rates(seen),
        Sample("duration_s", time.perf_counter() - began, "s"),
    ]
    series: tuple[Series, ...] = ()
    doubts: tuple[Warning, ...] = ()
    named = {"all_cores": found.all_cores, "server_core": found.server_core}
    if everybody:
        samples += [
            Sample(f"{name}_load_percent", mean(values[k] for k in everybody), "%")
            for name, values in named.items()
        ]
    else:
        viewers = sum(one.clients for one in seen)
        said = f"there were no two seconds in which all {viewers} viewers watched"
        doubts = (Warning("video-too-short", said, "a longer `video`, or a shorter `interval`"),)
    if found.at_s:
        series = tuple(
            Series(
                metric=f"{name}_load_percent",
                unit="%",
                values=values,
                along="time_s",
                at=found.at_s,
            )
            for name, values in named.items()
        )
    return Figures(
        program=PROGRAM, samples=tuple(samples), series=(*series, *rate_shares(seen)), doubts=doubts
    )


def _looker(pid: int) -> Callable[[], Look]:
    """Return a function that reads the counters of all cores; its times count from now."""
    began = time.perf_counter()

    def look() -> Look:
        own = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        return Look(
            at_s=time.perf_counter() - began,
            cores=core_ticks(Path("/proc/stat").read_text(encoding="ascii")),
            server_core=int(own.rpartition(")")[2].split()[_PROCESSOR]),
        )

    return look
