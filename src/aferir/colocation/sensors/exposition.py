"""Histograms in the Prometheus text format: parsed, and what they gained between two looks.

Source: Prometheus documentation, "Exposition formats" and "Histograms and summaries".
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

import msgspec

from aferir.colocation.histogram import Histogram

Labels = tuple[tuple[str, str], ...]
Cumulative = dict[float, float]
"""Counts of latencies that do not exceed a bound (`le`)."""

_LABEL = re.compile(r"\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*\"((?:[^\"\\\n]|\\.)*)\"\s*(?:,|$)")
_ESCAPES = {"\\n": "\n", '\\"': '"', "\\\\": "\\"}
_SPREAD = 32
"""Latencies within a bucket are spread evenly over so many places."""


class Gained(msgspec.Struct, frozen=True):
    """What a histogram gained between two looks."""

    latencies: Histogram
    beyond: int
    """Of them longer than the largest finite bound; recorded as just above it."""


def read_buckets(
    text: str, metric: str, wanted: Mapping[str, str] | None = None
) -> dict[Labels, Cumulative]:
    """Buckets of `metric` by their other labels, of the series whose labels are as `wanted`.

    Whatever cannot be read is left out. Errors: none.
    """
    found: dict[Labels, Cumulative] = {}
    prefix = f"{metric}_bucket{{"
    for line in text.splitlines():
        if not line.startswith(prefix):
            continue
        inside, _, after = line[len(prefix) :].rpartition("}")
        labels = _labels(inside)
        value = _number(after.split()[0]) if after.split() else None
        if labels is None or value is None:
            continue
        bound = _number(labels.pop("le", ""))
        if bound is None or not 0 <= value < math.inf:
            continue
        if all(labels.get(name) == content for name, content in (wanted or {}).items()):
            found.setdefault(tuple(sorted(labels.items())), {})[bound] = value
    return found


def gained(
    before: Mapping[Labels, Cumulative], now: Mapping[Labels, Cumulative], scale: float = 1.0
) -> Gained:
    """Sum over all series. One whose counts fell was reset: what it holds has come since then.

    `scale`: seconds in one unit of the bounds. Latencies are spread evenly within their bucket,
    as Prometheus' own `histogram_quantile` does.
    """
    latencies = Histogram()
    beyond = 0
    for labels, cumulative in now.items():
        old = before.get(labels, {})
        if any(cumulative.get(bound, 0.0) < count for bound, count in old.items()):
            old = {}
        for low, high, count in _steps(old, cumulative):
            if high == math.inf:
                beyond += count
                latencies.add(max(low, 0.0) * scale * (1 + 1e-3), count)
            elif high >= 0:
                _spread(latencies, max(low, 0.0) * scale, high * scale, count)
    return Gained(latencies, beyond)


def largest_bound(series: Mapping[Labels, Cumulative]) -> float:
    """Largest finite bound of all; 0 where there is none. Longer latencies are indistinct."""
    bounds = (bound for cumulative in series.values() for bound in cumulative)
    return max((bound for bound in bounds if bound < math.inf), default=0.0)


def _steps(old: Cumulative, new: Cumulative) -> Iterator[tuple[float, float, int]]:
    """Buckets from bound to bound with what they gained; torn counts are taken as they rise."""
    low, so_far = 0.0, 0
    for bound in sorted(new):
        risen = round(new[bound] - old.get(bound, 0.0))
        if risen > so_far:
            yield low, bound, risen - so_far
            so_far = risen
        low = bound


def _spread(latencies: Histogram, low: float, high: float, count: int) -> None:
    places = min(count, _SPREAD)
    each, more = divmod(count, places)
    for place in range(places):
        middle = low + (high - low) * (place + 0.5) / places
        latencies.add(middle, each + (1 if place < more else 0))


def _labels(text: str) -> dict[str, str] | None:
    labels: dict[str, str] = {}
    place = 0
    while place < len(text):
        found = _LABEL.match(text, place)
        if found is None:
            return None
        labels[found.group(1)] = re.sub(
            r"\\.", lambda escape: _ESCAPES.get(escape.group(), escape.group()), found.group(2)
        )
        place = found.end()
    return labels


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return None if math.isnan(value) else value
