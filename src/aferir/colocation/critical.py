"""Determines which threads of a service answer its requests.

They are selected by name (Java's full name, or the kernel's first 15 characters), or learnt: the
CPU use of serving threads rises with the rate of requests. The kernel's name of a Java thread is
shortened, by JDK 22 and later in the middle (`Dispatc..read21`), so the JVM is asked for full
names.
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
"""Smallest number of samples of CPU use and rate from which critical threads are learnt."""
_CLEARLY = 0.3
"""A thread is taken to serve requests if the lower end of its correlation's 95 % interval is above
this.
"""
_LEAST_SHARE = 0.01
"""Smallest share of the service's CPU use: a thread pool that uses less cannot delay an answer by
much.
"""

_BUSY_SHARE = 0.05
_IDLE_SHARE = 0.02
_MOST_NAMES = 10_000


class Selector(msgspec.Struct, frozen=True, kw_only=True):
    """Selects the critical threads; if nothing is set, they are learnt."""

    names: tuple[str, ...] = ()
    """Regular expressions that are searched for in the kernel's name of a thread (15
    characters)."""
    java: tuple[str, ...] = ()
    """Regular expressions that are searched for in Java's full name of a thread."""
    all: bool = False
    """True if every thread of the service is critical."""

    @property
    def learns(self) -> bool:
        """Whether nothing was selected, so that critical threads are learnt."""
        return not (self.names or self.java or self.all)


class Matcher:
    """Matches threads with a selector; each name is matched once, as threads of a pool share it."""

    def __init__(self, selector: Selector) -> None:
        """Raise UsageError if the selector contains an invalid regular expression."""
        self._all = selector.all
        self._kernel = [_compiled(text) for text in selector.names]
        self._java = [_compiled(text) for text in selector.java]
        self._known: dict[tuple[str, str], bool] = {}

    def chosen(self, names: Mapping[int, str], java_names: Mapping[int, str]) -> frozenset[int]:
        """The threads (tid to name) whose kernel name or Java name the selector matches."""
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
    """Name of the pool that a thread belongs to: its name with numbers replaced by `#`."""
    return re.sub(r"\d+", "#", name)


def learn(
    names: Mapping[int, str], used: Mapping[int, Sequence[float]], rates: Sequence[float]
) -> frozenset[int]:
    """Threads whose CPU use rises with the request rate; threads of one pool are judged together.

    `used`: tid to CPU seconds per second in each of the same periods as `rates` (1/s). Nothing is
    learnt from fewer than ten periods, or from a constant rate.
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
    """Pools that use at least 5 % of the service's CPU time: a guess until threads are learnt."""
    least = _BUSY_SHARE * sum(map(sum, used.values()))
    return frozenset(
        tid
        for members in _pools(names, used)
        if sum(sum(used[tid]) for tid in members) >= least > 0
        for tid in members
    )


def occupied(threads: Iterable[ThreadUse]) -> float:
    """Share of the time in which threads of the fullest pool run or wait for a CPU, 0 to 1.

    Threads that use almost nothing compared with the busiest of their pool do not count: a master
    process has the same name as its workers.
    """
    pools: dict[str, list[float]] = {}
    for one in threads:
        busy = min(1.0, one.cpus + one.waited_cpus)  # a wait is counted when it has ended
        pools.setdefault(stem(one.name), []).append(busy)
    return max(map(_occupied, pools.values()), default=0.0)


def _occupied(pool: Sequence[float]) -> float:
    least = _IDLE_SHARE * max(pool)
    return fmean(busy for busy in pool if busy >= least)


def _pools(names: Mapping[int, str], used: Mapping[int, Sequence[float]]) -> list[list[int]]:
    """Threads grouped by the name of their pool."""
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
