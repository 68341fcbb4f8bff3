"""Latencies as counts in log-linear buckets, as HdrHistogram keeps them, and windows of them.

No numpy here: the controller that reads this beside a service is to stay small.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator

from aferir.colocation.order import bounds_ranks, fewest, lower_rank
from aferir.colocation.settings import Latency

_STEPS_BITS = 10
STEPS = 1 << _STEPS_BITS
"""Buckets a doubling: a value read back is within 1/2048, so three significant digits hold."""
MOST_NS = 1 << 62
"""Longer latencies, of more than a century, are counted as this one."""
_NS = 1e9
_SPARE = 1.4


class Histogram:
    """Counts of latencies; sparse, so that it costs what was recorded and not its range.

    Below 2 x STEPS ns every value has its own bucket, from there STEPS buckets a doubling.
    """

    __slots__ = ("_counts", "_total")

    def __init__(self, latencies_s: Iterable[float] = ()) -> None:
        self._counts: dict[int, int] = {}
        self._total = 0
        for latency_s in latencies_s:
            self.add(latency_s)

    @property
    def total(self) -> int:
        """How many latencies there are."""
        return self._total

    def add(self, latency_s: float, count: int = 1) -> None:
        """Record a latency `count` times. Errors: ValueError where it is NaN or below 0."""
        if not latency_s >= 0:
            raise ValueError(f"{latency_s} is no latency")
        if count < 1:
            return
        bucket = _bucket(latency_s)
        self._counts[bucket] = self._counts.get(bucket, 0) + count
        self._total += count

    def merge(self, other: Histogram) -> None:
        """Add what the other one has."""
        counts = self._counts
        if not counts:
            counts.update(other._counts)
        else:
            for bucket, count in other._counts.items():
                counts[bucket] = counts.get(bucket, 0) + count
        self._total += other._total

    def above(self, latency_s: float) -> int:
        """How many are longer than that, to the precision of a bucket."""
        last = _bucket(latency_s)
        return sum(count for bucket, count in self._counts.items() if bucket > last)

    def value(self, share: float) -> float:
        """Least latency that `share` (0 to 1) of all do not exceed, in seconds.

        Errors: ValueError where there is none.
        """
        rank = max(1, _ceil(share * self._total))
        return self._at((rank,))[0]

    def latency(self, share: float, confidence: float = 0.95) -> Latency | None:
        """A quantile with its distribution-free interval, or None where nothing was recorded.

        The interval is between order statistics, so nothing is assumed about the distribution.
        Where the latencies are too few for it, its upper end is infinite: of a 95th percentile it
        takes 72 at 95 % confidence. The lower end, above which the quantile certainly is, takes
        some two, and is 0 where there are fewer.
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
        """The same for a report: None where the latencies are too few for an interval."""
        found = self.latency(share, confidence)
        return found if found is not None and found.high_s < math.inf else None

    def items(self) -> Iterator[tuple[float, int]]:
        """Latencies in seconds, rising, with their counts: the cumulative distribution's steps."""
        for bucket in sorted(self._counts):
            yield _middle_ns(bucket) / _NS, self._counts[bucket]

    def _at(self, ranks: tuple[int, ...]) -> list[float]:
        """Latencies of these ranks (from 1 on, not falling), in seconds.

        Counted from the longest on, since it is the tail that is asked for.
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
    """A ring of histograms, one a slot of time: what came of late, however long that reaches back.

    Time is any monotonic clock's, in seconds; a step back counts as no time at all.
    """

    def __init__(self, slot_s: float, slots: int) -> None:
        if not (slot_s > 0 and slots > 0):
            raise ValueError("a window needs slots, of a length above 0")
        self.slot_s = slot_s
        self._slots: deque[Histogram] = deque([Histogram()], maxlen=slots)
        self._newest = 0
        self._started: float | None = None

    def advance(self, now_s: float) -> None:
        """Let slots go that have become too old."""
        if self._started is None:
            self._started = now_s
        turns = int((now_s - self._started) / self.slot_s) - self._newest
        for _ in range(min(turns, self._slots.maxlen or 1)):
            self._slots.append(Histogram())
        self._newest += max(turns, 0)

    def add(self, now_s: float, latencies: Histogram) -> None:
        """Put what was just read into the newest slot."""
        self.advance(now_s)
        self._slots[-1].merge(latencies)

    def latest(self, samples: int, slots: int = 1) -> Histogram:
        """The newest `slots`, and as many older ones as it takes to have so many samples.

        A busy service is thus judged by its last moments, a quiet one by more of the past.
        """
        made = Histogram()
        for place, histogram in enumerate(reversed(self._slots)):
            if place >= slots and made.total >= samples:
                break
            made.merge(histogram)
        return made


def enough(share: float, confidence: float = 0.95) -> int:
    """Latencies that a window holds at least, so that a quantile of it has an interval.

    With some to spare: the fewest would all have to be below its upper end.
    """
    return int(_SPARE * fewest(share, confidence))


def _ceil(rank: float) -> int:
    """Round up, but not over the last digit of a product such as 0.95 x 20."""
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
