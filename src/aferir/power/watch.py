"""Reads several sources over time: their values, refused readings, and disagreements."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from aferir.errors import AferirError
from aferir.power.base import Counter, Description, Source, power_between, wraps_within_s
from aferir.power.check import refusal
from aferir.power.model import busy_share


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """Readings of one power source."""

    name: str
    description: Description | None
    """Properties of the readings; None if the source did not describe itself."""
    at_s: tuple[float, ...] = ()
    """Time of each valid reading, in seconds since the start."""
    power_w: tuple[float, ...] = ()
    refused: Mapping[str, int] = {}
    """Number of refused readings by reason."""


class Mean(msgspec.Struct, frozen=True, kw_only=True):
    """Mean power of a source with its uncertainties."""

    mean_w: float
    n: int
    """Number of valid readings."""
    updates: int
    """Number of measurements: fewer than readings if the source was read more often than that."""
    low: float | None
    high: float | None
    """`low` to `high`: 95 % confidence interval of the mean; None for one or two measurements."""
    step_w: float
    """Standard uncertainty of a reading from its resolution, which repetition does not reduce."""
    accuracy_w: float


class Disagreement(msgspec.Struct, frozen=True, kw_only=True):
    """Difference between the means of two sources."""

    first: str
    second: str
    difference_w: float
    """Mean of the first source minus that of the second, in watts."""
    relative: float


class CpuUse:
    """Shares of used CPU time, from snapshots of /proc/stat at each sample."""

    def __init__(self, stat: Path = Path("/proc/stat")) -> None:
        self._stat = stat
        self._first = self._before = stat.read_text(encoding="ascii")
        self.at_s: list[float] = []
        """Time of each sample, in seconds since the start of the readings."""
        self.shares: list[float] = []
        """Used share of all CPUs since the previous sample, from 0 to 1."""

    @property
    def mean(self) -> float:
        """Share over the whole time; NaN before a tick has passed."""
        return busy_share(self._first, self._before)

    def look(self, at_s: float) -> None:
        """Add the share since the previous sample; do nothing while no tick has passed."""
        now = self._stat.read_text(encoding="ascii")
        share = busy_share(self._before, now)
        if not math.isnan(share):
            self._before = now
            self.at_s.append(at_s)
            self.shares.append(share)

    def document(self) -> Mapping[str, object]:
        """The shares as values for JSON; `mean` is null before a tick has passed."""
        mean = None if math.isnan(self.mean) else self.mean
        return {"at_s": self.at_s, "used_share": self.shares, "mean": mean}


Pause = Callable[[float], object]


def watch(
    sources: Mapping[str, Source],
    *,
    seconds: float,
    every_s: float,
    clock: Callable[[], float] = time.monotonic,
    pause: Pause = time.sleep,
    seen: Callable[[str, float, float], None] = lambda *_: None,
    over: Callable[[], bool] = lambda: False,
    each_look: Callable[[float], None] = lambda _: None,
) -> list[Watched]:
    """Read all sources in turn, every `every_s`, for `seconds`.

    In each round every source is read once. `each_look` is called before a round, with the time in
    seconds since the start; `seen` after each valid reading, with the source's name, that time and
    the power. Ends early after the round in which `over` returns true. A source that fails is read
    again in the next round; its failures are counted like refused readings.
    """
    described = {name: _describe(one) for name, one in sources.items()}
    befores: dict[str, Counter] = {}
    kept: dict[str, list[tuple[float, float]]] = {name: [] for name in sources}
    refused: dict[str, dict[str, int]] = {name: {} for name in sources}
    start = clock()
    looks = max(1, round(seconds / every_s))
    for look in range(looks + 1):
        pause(max(0.0, start + look * every_s - clock()))
        each_look(clock() - start)
        for name, one in sources.items():
            why, now, power = _ask(one, described[name], befores.get(name), clock)
            if now is not None:
                befores[name] = now
            if power is not None and now is not None:
                kept[name].append((now.at_s - start, power))
                seen(name, now.at_s - start, power)
            elif why:
                refused[name][why] = refused[name].get(why, 0) + 1
        if over():
            break
    return [
        Watched(
            name=name,
            description=described[name],
            at_s=tuple(at for at, _ in kept[name]),
            power_w=tuple(power for _, power in kept[name]),
            refused=refused[name],
        )
        for name in sources
    ]


def mean_of(watched: Watched) -> Mean | None:
    """Mean power of a source; None without a valid reading."""
    from aferir.statistics.intervals import mean_interval  # an agent reads, and has no NumPy

    if not watched.power_w:
        return None
    values = _updates(watched)
    mean = sum(values) / len(values)
    interval = mean_interval(values)
    described = watched.description
    step = described.resolution_w / math.sqrt(12) if described else 0.0
    return Mean(
        mean_w=mean,
        n=len(watched.power_w),
        updates=len(values),
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        step_w=step,
        accuracy_w=described.accuracy * mean if described else 0.0,
    )


def _updates(watched: Watched) -> list[float]:
    """Readings, or the mean of each update period if a period has two readings or more.

    Readings of the same measurement are no more certain than one of them.
    """
    values, at_s, device = list(watched.power_w), watched.at_s, watched.description
    if device is None or device.period_s <= 0:
        return values
    if device.period_s * (len(values) - 1) < 2 * (at_s[-1] - at_s[0]):
        return values
    periods: dict[int, list[float]] = {}
    for at, value in zip(at_s, values, strict=True):
        periods.setdefault(int((at - at_s[0]) / device.period_s), []).append(value)
    return [sum(each) / len(each) for each in periods.values()]


def disagreements(watched: Sequence[Watched]) -> list[Disagreement]:
    """Differences between the means of every two sources that have one.

    Sources of different scope, such as a package and the whole server, differ legitimately.
    """
    means = [(one.name, mean) for one in watched if (mean := mean_of(one)) is not None]
    return [
        Disagreement(
            first=first,
            second=second,
            difference_w=a.mean_w - b.mean_w,
            relative=a.mean_w / b.mean_w - 1,
        )
        for place, (first, a) in enumerate(means)
        for second, b in means[place + 1 :]
    ]


def _describe(one: Source) -> Description | None:
    try:
        return one.describe()
    except AferirError:
        return None


def _ask(
    one: Source,
    described: Description | None,
    before: Counter | None,
    clock: Callable[[], float],
) -> tuple[str, Counter | None, float | None]:
    """Read a source; returns why there is no power ("" if there is), the reading, and the power."""
    try:
        described = described or one.describe()
        now = Counter(clock(), one.read())
    except AferirError as error:
        return f"{error.message} ({error.remedy})" if error.remedy else error.message, None, None
    if now.reading.energy_j is not None and now.reading.power_w is None and before is None:
        return "", now, None  # a counter's first reading gives no power yet
    power = power_between(before or now, now, described.most_w)
    limit_s = wraps_within_s(now.reading, described.most_w)
    if before is not None and now.reading.power_w is None and now.at_s - before.at_s >= limit_s:
        return f"its counter may wrap around within {limit_s:.0f} s: read it more often", now, None
    why = refusal(power, now.reading, described)
    return why, now, None if why else power
