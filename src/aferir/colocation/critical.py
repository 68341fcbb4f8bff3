"""Which threads of a service answer its requests.

Known by name (Java's full one, or the kernel's first 15 characters), or learnt: CPU use of the
threads that serve rises with the rate of requests. The kernel's name of a Java thread is cut, by
JDK 22 and later in the middle (`Dispatc..read21`), so full names are asked of the JVM.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

import msgspec

from aferir.colocation.settings import ThreadUse
from aferir.errors import UsageError

_FEWEST = 10
"""Looks at CPU use and rate before anything is learnt from them."""
_CLEARLY = 0.3
"""Lower end of the correlation's 95 % interval from which on a thread is taken to serve."""
_LEAST_SHARE = 0.01
"""Share of the service's CPU use; what uses less cannot delay an answer by much."""

_BUSY_SHARE = 0.05
_IDLE_SHARE = 0.02
_MOST_NAMES = 10_000


class Selector(msgspec.Struct, frozen=True, kw_only=True):
    """Which threads are critical; with nothing given they are learnt."""

    names: tuple[str, ...] = ()
    """Regular expressions, searched in the name that the kernel knows (15 characters)."""
    java: tuple[str, ...] = ()
    """Regular expressions, searched in Java's full name."""
    all: bool = False
    """Every thread of the service."""

    @property
    def learns(self) -> bool:
        """Whether nothing was said."""
        return not (self.names or self.java or self.all)


class Matcher:
    """Threads that a selector names. A name is looked at once: pools have many of one name."""

    def __init__(self, selector: Selector) -> None:
        """Errors: UsageError where the selector holds what is no regular expression."""
        self._all = selector.all
        self._kernel = [_compiled(text) for text in selector.names]
        self._java = [_compiled(text) for text in selector.java]
        self._known: dict[tuple[str, str], bool] = {}

    def chosen(self, names: Mapping[int, str], java_names: Mapping[int, str]) -> frozenset[int]:
        """Those of the threads (tid to name) that are named by either of their names."""
        if self._all:
            return frozenset(names)
        return frozenset(
            tid for tid, name in names.items() if self._is_chosen((name, java_names.get(tid, "")))
        )

    def _is_chosen(self, both: tuple[str, str]) -> bool:
        known = self._known.get(both)
        if known is None:
            if len(self._known) >= _MOST_NAMES:
                self._known.clear()
            known = self._known[both] = any(p.search(both[0]) for p in self._kernel) or any(
                p.search(both[1]) for p in self._java
            )
        return known


def _compiled(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise UsageError(
            f"`{text}` is no regular expression: {error}", remedy="e.g. 'search' or '^http-nio'"
        ) from None


def stem(name: str) -> str:
    """Name of the pool that a thread belongs to: numbers taken out."""
    return re.sub(r"\d+", "#", name)


def learn(
    names: Mapping[int, str], used: Mapping[int, Sequence[float]], rates: Sequence[float]
) -> frozenset[int]:
    """Threads whose CPU use rises with the request rate; pools of one name are judged as one.

    `used`: tid to CPU seconds per second in each of the same periods as `rates` (1/s). Nothing is
    learnt from fewer than ten periods, or from a rate that never changes.
    """
    if len(rates) < _FEWEST:
        return frozenset()
    total = sum(map(sum, used.values()))
    critical: set[int] = set()
    for members in _pools(names, used):
        pool = [sum(values) for values in zip(*(used[tid] for tid in members), strict=True)]
        if sum(pool) >= _LEAST_SHARE * total and _lower_correlation(pool, rates) > _CLEARLY:
            critical.update(members)
    return frozenset(critical)


def busiest(names: Mapping[int, str], used: Mapping[int, Sequence[float]]) -> frozenset[int]:
    """Pools that use a twentieth of the service's CPU or more: a guess, until there is better."""
    least = _BUSY_SHARE * sum(map(sum, used.values()))
    return frozenset(
        tid
        for members in _pools(names, used)
        if sum(sum(used[tid]) for tid in members) >= least > 0
        for tid in members
    )


def occupied(threads: Iterable[ThreadUse]) -> float:
    """The part of the fullest pool that runs or waits for a CPU, 0 to 1.

    Threads that do next to nothing beside the busiest of their pool do not count: a master process
    has its workers' name.
    """
    pools: dict[str, list[float]] = {}
    for one in threads:
        busy = min(1.0, one.cpus + one.waited_cpus)  # a wait is told when it has ended
        pools.setdefault(stem(one.name), []).append(busy)
    return max(map(_occupied, pools.values()), default=0.0)


def _occupied(pool: Sequence[float]) -> float:
    least = _IDLE_SHARE * max(pool)
    return fmean(busy for busy in pool if busy >= least)


def _pools(names: Mapping[int, str], used: Mapping[int, Sequence[float]]) -> list[list[int]]:
    """Threads by the name of their pool."""
    pools: dict[str, list[int]] = {}
    for tid in used:
        pools.setdefault(stem(names.get(tid, str(tid))), []).append(tid)
    return list(pools.values())


def _lower_correlation(x: Sequence[float], y: Sequence[float]) -> float:
    """Lower end of the 95 % interval of Pearson's r, by Fisher's transformation; -1: no spread."""
    n = len(x)
    mean_x, mean_y = sum(x) / n, sum(y) / n
    spread_x = math.sqrt(sum((a - mean_x) ** 2 for a in x))
    spread_y = math.sqrt(sum((b - mean_y) ** 2 for b in y))
    if spread_x <= 1e-12 * abs(mean_x) * n or spread_y <= 1e-12 * abs(mean_y) * n:
        return -1.0
    r = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / spread_x / spread_y
    return math.tanh(math.atanh(min(max(r, -0.999999), 0.999999)) - 1.96 / math.sqrt(n - 3))
