"""Latencies as counts in log-linear buckets (as in HdrHistogram), and sliding windows of them.

numpy is not used, to keep the controller small, as it runs beside a service.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator

from aferir.colocation.order import bounds_ranks, fewest, lower_rank
from aferir.colocation.settings import Latency

_STEPS_BITS = 10
STEPS = 1 << _STEPS_BITS
"""Buckets per doubling: a recorded value is accurate to 1/2048, or three significant digits."""
MOST_NS = 1 << 62
"""Longest latency that is recorded, more than a century; longer ones count as this."""
_NS = 1e9
_SPARE = 1.4


class Histogram:
    """Counts of latencies in buckets; empty buckets take no memory, so any range can be recorded.

    Below 2 x STEPS ns every value has its own bucket; above, there are STEPS buckets per doubling.
    """

    __slots__ = ("_counts", "_total")

    def __init__(self, latencies_s: Iterable[float] = ()) -> None:
        self._counts: dict[int, int] = {}
        self._total = 0
        for latency_s in latencies_s:
            self.add(latency_s)

    @property
    def total(self) -> int:
        """Number of latencies that were recorded."""
        return self._total

    def add(self, latency_s: float, count: int = 1) -> None:
        """Record a latency `count` times. Errors: ValueError if it is NaN or negative."""
        if not latency_s >= 0:
            raise ValueError(f"{latency_s} is no latency")
        if count < 1:
            return
        bucket = _bucket(latency_s)
        self._counts[bucket] = self._counts.get(bucket, 0) + count
        self._total += count

    def merge(self, other: Histogram) -> None:
        """Add the counts of another histogram."""
        counts = self._counts
        if not counts:
            counts.update(other._counts)
        else:
            for bucket, count in other._counts.items():
                counts[bucket] = counts.get(bucket, 0) + count
        self._total += other._total

    def above(self, latency_s: float) -> int:
        """Number of latencies above `latency_s`, to the precision of a bucket."""
        last = _bucket(latency_s)
        return sum(count for bucket, count in self._counts.items() if bucket > last)

    def value(self, share: float) -> float:
        """Smallest latency in s that is not exceeded by a `share` (0 to 1) of all latencies.

        Errors: ValueError if nothing was recorded.
        """
        rank = max(1, _ceil(share * self._total))
        return self._at((rank,))[0]

    def latency(self, share: float, confidence: float = 0.95) -> Latency | None:
        """A quantile with its distribution-free confidence interval; None if nothing was recorded.

        The ends of the interval are two of the recorded latencies. With too few of them, the upper
        end is infinite: a 95th percentile at 95 % confidence needs 72. The lower end needs about 2,
        and is 0 if there are fewer.
        """
        if self._total == 0:
            return None
        ranks = bounds_ranks(self._total, share, confidence)
        middle = max(1, _ceil(share * self._total))
        if ranks is None:
            lowest = lower_rank(self._total, share, confidence)
            values = self._at((max(1, lowest), middle))
            low_s = values[0] if lowest else 0.0
            return Latency(quantile_s=values[1], low_s=low_s, high_s=math.inf, n=self._total)
        low, high = ranks
        values = self._at((low, min(max(middle, low), high), high))
        return Latency(quantile_s=values[1], low_s=values[0], high_s=values[2], n=self._total)

    def quantile(self, share: float, confidence: float = 0.95) -> Latency | None:
        """Quantile with its interval for a report; None if there are too few latencies for one."""
        found = self.latency(share, confidence)
        return found if found is not None and found.high_s < math.inf else None

    def items(self) -> Iterator[tuple[float, int]]:
        """Latencies in seconds, ascending, with their counts, as in a cumulative distribution."""
        for bucket in sorted(self._counts):
            yield _middle_ns(bucket) / _NS, self._counts[bucket]

    def _at(self, ranks: tuple[int, ...]) -> list[float]:
        """Latencies in seconds at `ranks`, which are counted from 1, ascending.

        Counts from the longest latency down, because ranks are usually in the tail. Errors:
        ValueError if a rank does not exist.
        """
        if not 1 <= ranks[0] <= ranks[-1] <= self._total:
            raise ValueError(f"no rank {ranks[-1]} among {self._total} latencies")
        wanted = list(ranks)
        found: list[float] = []
        shorter = self._total
        for bucket in sorted(self._counts, reverse=True):
            shorter -= self._counts[bucket]
            while wanted and shorter < wanted[-1]:
                found.append(_middle_ns(bucket) / _NS)
                wanted.pop()
            if not wanted:
                break
        return found[::-1]


class Windows:
    """A ring of histograms, one per time slot, for windows of the recent past.

    Times are in seconds on any monotonic clock; a step back counts as no time at all.
    """

    def __init__(self, slot_s: float, slots: int) -> None:
        if not (slot_s > 0 and slots > 0):
            raise ValueError("a window needs slots, of a length above 0")
        self.slot_s = slot_s
        self._slots: deque[Histogram] = deque([Histogram()], maxlen=slots)
        self._newest = 0
        self._started: float | None = None

    def advance(self, now_s: float) -> None:
        """Drop slots that have become too old."""
        if self._started is None:
            self._started = now_s
        turns = int((now_s - self._started) / self.slot_s) - self._newest
        for _ in range(min(turns, self._slots.maxlen or 1)):
            self._slots.append(Histogram())
        self._newest += max(turns, 0)

    def add(self, now_s: float, latencies: Histogram) -> None:
        """Add latencies that were just read to the newest slot."""
        self.advance(now_s)
        self._slots[-1].merge(latencies)

    def latest(self, samples: int, slots: int = 1) -> Histogram:
        """Merge the newest `slots`, and as many older ones as are needed for `samples` latencies.

        A busy service is thus judged by its last moments, a quiet one by a longer past.
        """
        made = Histogram()
        for place, histogram in enumerate(reversed(self._slots)):
            if place >= slots and made.total >= samples:
                break
            made.merge(histogram)
        return made


def enough(share: float, confidence: float = 0.95) -> int:
    """Number of latencies that a window should hold for its quantile to have a useful interval.

    It is 1.4 times the minimum, with which the interval's upper end would be the longest latency.
    """
    return int(_SPARE * fewest(share, confidence))


def _ceil(rank: float) -> int:
    """Round up, but ignore rounding errors of products such as 0.95 x 20."""
    return int(-(-round(rank, 9) // 1))


def _bucket(latency_s: float) -> int:
    value_ns = round(latency_s * _NS) if latency_s < MOST_NS / _NS else MOST_NS
    shift = value_ns.bit_length() - _STEPS_BITS - 1
    return (shift << _STEPS_BITS) + (value_ns >> shift) if shift > 0 else value_ns


def _middle_ns(bucket: int) -> float:
    if bucket < 2 * STEPS:
        return float(bucket)
    shift = (bucket >> _STEPS_BITS) - 1
    first = bucket - (shift << _STEPS_BITS)
    return float(first << shift) + ((1 << shift) - 1) / 2
