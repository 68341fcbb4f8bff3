"""One audience in many places: who watches where, whose clock says what, and all of it together.

Every place has a clock of its own. Viewers come at *intended* times that count from one common
start, which each place is told as a moment of its own CLOCK_MONOTONIC; how well that is known is
said beside the figures, and never subtracted from them.
"""

from __future__ import annotations

import math
import socket
import tempfile
from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, Protocol

import msgspec

from aferir.elastic.viewers import Watched, command, read, schedule, watch
from aferir.errors import ProgramError
from aferir.linux import process
from aferir.model.record import Series


class Clock(msgspec.Struct, frozen=True):
    """The clock of another host, relative to ours."""

    ahead_s: float
    uncertainty_s: float


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """What one place is told."""

    url: str
    options: tuple[str, ...]
    times_s: tuple[float, ...]
    """Since the common start, in order."""
    begin_s: float
    """The common start, on the clock of that place."""
    limit_s: float


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """What the viewers of one place saw."""

    host: str
    watched: Watched
    intended_s: tuple[float, ...]
    """When they were to come, as their own program says."""
    startups_s: tuple[float, ...]
    """Startup times of those who saw a picture."""
    uncertainty_s: float = 0.0
    """Uncertainty of the common start there, at any time of the run."""


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What the whole audience saw."""

    watched: Watched
    parts: tuple[Part, ...] = ()
    """None where all sat in one place, with our clock."""


class Audience(Protocol):
    """Whoever lets viewers come."""

    async def watch(
        self, url: str, options: Sequence[str], times_s: Sequence[float], *, limit_s: float
    ) -> Seen:
        """All of them, to the last one's end. Errors: AferirError."""
        ...


class Here:
    """All in one program on this host."""

    def __init__(self, folder: Path) -> None:
        """`folder` takes the schedule."""
        self._schedule = folder / "schedule"

    async def watch(
        self, url: str, options: Sequence[str], times_s: Sequence[float], *, limit_s: float
    ) -> Seen:
        """Errors: those of `viewers.watch`."""
        schedule(times_s, self._schedule)
        given = [*options, "--schedule", str(self._schedule)]
        return Seen(watched=await watch(url, given, limit_s=limit_s))


class _Viewer(msgspec.Struct, frozen=True):
    """A line of the program's log."""

    intended_s: float
    startup_s: float | None = None


def shares(times_s: Sequence[float], places: int) -> list[tuple[float, ...]]:
    """Each viewer in exactly one place, in turn, so that every place has the same load."""
    return [tuple(times_s[place::places]) for place in range(places)]


def clock_of(exchanges: Sequence[tuple[float, float, float]]) -> Clock:
    """From when we asked, what the other clock said, and when we knew; at least one of them.

    The other one read its clock between the two moments, which bounds the difference from both
    sides; the narrowest bounds of all exchanges are kept.
    """
    least = max(there - heard for _, there, heard in exchanges)
    most = min(there - asked for asked, there, _ in exchanges)
    return Clock((least + most) / 2, abs(most - least) / 2)


def uncertainty_s(before: Clock, after: Clock) -> float:
    """How far the common start was off at most, if it followed the clock `before`."""
    drift_s = abs(after.ahead_s - before.ahead_s)
    return max(before.uncertainty_s, drift_s + after.uncertainty_s)


def run_share(share: Share) -> Part:
    """The viewers' program on this host, to its end. Errors: those of `process.run`."""
    with tempfile.TemporaryDirectory(prefix="aferir-viewers-") as name:
        times, log = Path(name) / "schedule", Path(name) / "log"
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
    """As one program would have seen all of it; at least one part."""
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
    )


def health(parts: Sequence[Part]) -> tuple[Series, ...]:
    """The health of the program in each place.

    Whether it can be trusted, and since when it counted.
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
    """Places with violations of their own, in words; empty where there are none."""
    named = zip(_names(parts), parts, strict=True)
    counts = [(name, part.watched.own_violations) for name, part in named]
    return ", ".join(f"{name} ({count})" for name, count in counts if count)


def _names(parts: Sequence[Part]) -> tuple[str, ...]:
    """The host's; a number tells several programs of one host apart."""
    before: Counter[str] = Counter()
    names = []
    for part in parts:
        before[part.host] += 1
        number = before[part.host]
        names.append(part.host if number == 1 else f"{part.host}/{number}")
    return tuple(names)


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Nearest rank, as the program itself does it."""
    return ordered[math.floor(share * (len(ordered) - 1) + 0.5)] if ordered else 0.0


def _added(columns: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Second by second; who has finished adds nothing."""
    return tuple(sum(row) for row in zip_longest(*columns, fillvalue=0))
