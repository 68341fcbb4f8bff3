"""One audience in several places: distribution of viewers, clocks, and combined results.

Every place has a clock of its own. Viewers arrive at *intended* times relative to one common start,
which each place receives as a time of its own CLOCK_MONOTONIC. The uncertainty of that start is
reported beside the figures, and never subtracted from them.
"""

from __future__ import annotations

import math
import socket
from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from aferir.elastic.viewers import Watched, command, read, run, schedule
from aferir.errors import ProgramError
from aferir.linux import process, scratch
from aferir.model.record import Series

_Number = TypeVar("_Number", int, float)


class Clock(msgspec.Struct, frozen=True):
    """Offset of another host's clock from the local one, with its uncertainty."""

    ahead_s: float
    uncertainty_s: float


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """Viewers that run in one place: their arrival times, options and common start."""

    url: str
    options: tuple[str, ...]
    times_s: tuple[float, ...]
    """Arrival times in seconds since the common start, ascending."""
    begin_s: float
    """Common start of all viewers in seconds, on the clock of the host that runs this share."""
    limit_s: float


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Results of the viewers in one place."""

    host: str
    watched: Watched
    intended_s: tuple[float, ...]
    """Intended arrival times in seconds, as logged by the viewers' program."""
    startups_s: tuple[float, ...]
    """Startup times in seconds of the viewers that received video."""
    uncertainty_s: float = 0.0
    """Uncertainty in seconds of the common start in that place, at any time of the run."""


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """Results of the whole audience."""

    watched: Watched
    parts: tuple[Part, ...] = ()
    """Results by place; () if all viewers were in one place and used the local clock."""


class Audience(Protocol):
    """Runs the viewers of a service, in one or several places."""

    async def watch(
        self, url: str, options: Sequence[str], times_s: Sequence[float], *, limit_s: float
    ) -> Seen:
        """Run all viewers until the last one ends. Errors: AferirError."""
        ...


class Here:
    """All viewers in one program on this host."""

    def __init__(self, folder: Path) -> None:
        """Store the folder for the schedule file."""
        self._schedule = folder / "schedule"

    async def watch(
        self, url: str, options: Sequence[str], times_s: Sequence[float], *, limit_s: float
    ) -> Seen:
        """Run all viewers here. Errors: those of `viewers.command` and `viewers.run`."""
        schedule(times_s, self._schedule)
        line = command(url, [*options, "--schedule", str(self._schedule)])
        return Seen(watched=await run(line, limit_s=limit_s))


class _Viewer(msgspec.Struct, frozen=True):
    """One line of the log that the viewers' program writes."""

    intended_s: float
    startup_s: float | None = None


def shares(times_s: Sequence[float], places: int) -> list[tuple[float, ...]]:
    """Distribute viewers round-robin over places, so that every place has the same load."""
    return [tuple(times_s[place::places]) for place in range(places)]


def clock_of(exchanges: Sequence[tuple[float, float, float]]) -> Clock:
    """Offset of another clock, from at least one exchange of (sent, remote time, received).

    The other host read its clock between the two local times, which bounds the offset from both
    sides; the narrowest bounds of all exchanges are used.
    """
    least = max(there - heard for _, there, heard in exchanges)
    most = min(there - asked for asked, there, _ in exchanges)
    return Clock((least + most) / 2, abs(most - least) / 2)


def uncertainty_s(before: Clock, after: Clock) -> float:
    """Largest error in seconds of a start computed with `before`; `after` shows the drift since."""
    drift_s = abs(after.ahead_s - before.ahead_s)
    return max(before.uncertainty_s, drift_s + after.uncertainty_s)


def run_share(share: Share) -> Part:
    """Run the viewers' program on this host until it ends. Errors: those of `process.run`."""
    with scratch.folder() as folder:
        times, log = folder / "schedule", folder / "log"
        schedule(share.times_s, times)
        begin = ("--begin", f"{share.begin_s:.9f}", "--schedule", str(times), "--log", str(log))
        line = command(share.url, [*share.options, *begin])
        watched = read(process.run(line, timeout_s=share.limit_s).stdout)
        try:
            viewers = [
                msgspec.json.decode(text, type=_Viewer) for text in log.read_bytes().splitlines()
            ]
        except msgspec.DecodeError as error:
            raise ProgramError(f"the log of the viewers is not readable: {error}") from None
    return Part(
        host=socket.gethostname(),
        watched=watched,
        intended_s=tuple(one.intended_s for one in viewers),
        startups_s=tuple(one.startup_s for one in viewers if one.startup_s is not None),
    )


def together(parts: Sequence[Part]) -> Watched:
    """Combine the results of all places (at least one) as if one program had run all viewers."""
    seen = [part.watched for part in parts]
    startups_s = sorted(second for part in parts for second in part.startups_s)
    counts = [field.name for field in msgspec.structs.fields(Watched) if field.type is int]
    added: dict[str, Any] = {name: sum(getattr(one, name) for one in seen) for name in counts}
    return Watched(
        **added,
        duration_s=max(one.duration_s for one in seen),
        stalled_s=sum(one.stalled_s for one in seen),
        longest_stall_s=max(one.longest_stall_s for one in seen),
        startup_median_s=_quantile(startups_s, 0.5),
        startup_p95_s=_quantile(startups_s, 0.95),
        startup_max_s=_quantile(startups_s, 1.0),
        cpu_s=sum(one.cpu_s for one in seen),
        worst_turn_s=max(one.worst_turn_s for one in seen),
        worst_start_s=max(one.worst_start_s for one in seen),
        bytes_by_second=_added([one.bytes_by_second for one in seen]),
        streaming_by_second=_added([one.streaming_by_second for one in seen]),
        # The video is the same everywhere; a place whose viewers had none knows of no rates.
        rates_bps=max((one.rates_bps for one in seen), key=len),
        seconds_at_rate=_added([one.seconds_at_rate for one in seen]),
        gained_s=sum(one.gained_s for one in seen),
    )


def health(parts: Sequence[Part]) -> tuple[Series, ...]:
    """Health of the viewers' program in each place.

    It tells whether the results can be trusted, and how well the start was known.
    """
    at = _names(parts)
    columns: dict[str, tuple[str, list[float]]] = {
        "viewers": ("1", [part.watched.clients for part in parts]),
        "own_violations": ("1", [part.watched.own_violations for part in parts]),
        "viewers_cpu_s": ("s", [part.watched.cpu_s for part in parts]),
        "worst_turn_s": ("s", [part.watched.worst_turn_s for part in parts]),
        "worst_start_s": ("s", [part.watched.worst_start_s for part in parts]),
        "start_uncertainty_s": ("s", [part.uncertainty_s for part in parts]),
    }
    return tuple(
        Series(metric=metric, unit=unit, values=tuple(values), along="viewers_host", at=at)
        for metric, (unit, values) in columns.items()
    )


def unhealthy(parts: Sequence[Part]) -> str:
    """Places whose viewers' program was itself too late, with counts; "" if there is none."""
    named = zip(_names(parts), parts, strict=True)
    counts = [(name, part.watched.own_violations) for name, part in named]
    return ", ".join(f"{name} ({count})" for name, count in counts if count)


def _names(parts: Sequence[Part]) -> tuple[str, ...]:
    """Host name of each part; a number distinguishes several programs on one host."""
    before: Counter[str] = Counter()
    names = []
    for part in parts:
        before[part.host] += 1
        number = before[part.host]
        names.append(part.host if number == 1 else f"{part.host}/{number}")
    return tuple(names)


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Quantile by nearest rank, as in the viewers' program."""
    return ordered[math.floor(share * (len(ordered) - 1) + 0.5)] if ordered else 0.0


def _added(columns: Sequence[Sequence[_Number]]) -> tuple[_Number, ...]:
    """Sum the columns place by place; columns that have ended count as 0."""
    return tuple(sum(row) for row in zip_longest(*columns, fillvalue=0))
