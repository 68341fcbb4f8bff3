"""Parses histograms in the Prometheus text format, and subtracts one scrape from the next.

Source: Prometheus documentation, "Exposition formats" and "Histograms and summaries".
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

import msgspec

from aferir.colocation.histogram import Histogram
from aferir.colocation.sensors.selector import Selector

Labels = tuple[tuple[str, str], ...]
Cumulative = dict[float, float]
"""Number of latencies that do not exceed an upper bound, by that bound (`le`)."""

_NAME = re.compile(r"[ \t]*([a-zA-Z_:][a-zA-Z0-9_:]*)[ \t]*(\{)?")
_QUOTED_NAME = re.compile(r"[ \t]*\{[ \t]*\"((?:[^\"\\\n]|\\.)*)\"[ \t]*(?:,|(?=\}))")
_LABEL = re.compile(
    r"[ \t]*(?:([a-zA-Z_][a-zA-Z0-9_]*)|\"((?:[^\"\\\n]|\\.)*)\")[ \t]*=[ \t]*"
    r"\"((?:[^\"\\\n]|\\.)*)\"[ \t]*(?:,|(?=\}))"
)
_END = re.compile(r"[ \t]*\}")
_VALUE = re.compile(r"[ \t]*(\S+)(?:[ \t]+[-+]?[0-9.eE+-]+)?(?:[ \t]+(?:st|ct)@\S+)?[ \t]*(?:#.*)?")
"""Matches what follows a sample's labels: value, time stamp, start time (OpenMetrics 2.0),
exemplar."""
_ESCAPES = {"\\n": "\n", '\\"': '"', "\\\\": "\\"}
_SPREAD = 32
"""Number of points over which the latencies of a bucket are spread evenly."""


class Gained(msgspec.Struct, frozen=True):
    """Latencies that a histogram gained between two scrapes."""

    latencies: Histogram
    beyond: int
    """Number of latencies above the largest finite bound; they are recorded as just above it."""


class Scraped(msgspec.Struct, frozen=True):
    """Contents of one histogram, as one scrape returned them."""

    series: dict[Labels, Cumulative]
    unread: int = 0
    """Lines that name the histogram but could not be parsed."""
    kind: str = ""
    """Type of the metric as declared in the text (`histogram`, `summary`, ...); "" if
    undeclared."""


def read_buckets(text: str, selector: Selector) -> Scraped:
    """Read the buckets of the selected series, by the labels of each series other than `le`.

    Any tokens may be separated by blanks, exemplars may follow (OpenMetrics 1.0), and names may be
    in quotation marks (Prometheus 3). Errors: none.
    """
    found: dict[Labels, Cumulative] = {}
    unread, kind, bucket = 0, "", f"{selector.metric}_bucket"
    for line in text.split("\n"):
        if bucket not in line:
            words = line.split() if line.startswith("# TYPE") else ()
            kind = words[3] if len(words) == 4 and words[2] == selector.metric else kind
            continue
        if line.lstrip().startswith("#"):
            continue
        sample = _sample(line.rstrip("\r"))
        if sample is None:
            unread += 1
            continue
        name, labels, value = sample
        if name != bucket:
            continue
        bound = _number(labels.pop("le", ""))
        if bound is None or value is None or not 0 <= value < math.inf:
            unread += 1
        elif selector.means(labels):
            found.setdefault(tuple(sorted(labels.items())), {})[bound] = value
    return Scraped(found, unread, kind)


def whole(series: Mapping[Labels, Cumulative], before: Mapping[Labels, Cumulative]) -> set[Labels]:
    """Labels of complete series, which have the +Inf bucket and every bucket that they had before.

    The +Inf bucket counts all latencies. A series in which another bucket counts more is left out,
    as its buckets are not cumulative.
    """
    return {
        labels
        for labels, cumulative in series.items()
        if cumulative.get(math.inf, -1.0) >= _total(cumulative)
        and before.get(labels, {}).keys() <= cumulative.keys()
    }


def gained(
    before: Mapping[Labels, Cumulative], now: Mapping[Labels, Cumulative], scale: float = 1.0
) -> Gained:
    """Latencies gained over all series between two scrapes.

    If the total of a series fell, it was reset, and all its counts are new. If only a single bucket
    fell, it was read while the service was counting, and is ignored. `scale`: seconds per unit of
    the bounds. Latencies are spread evenly within their bucket, as Prometheus' `histogram_quantile`
    does.
    """
    latencies = Histogram()
    beyond = 0
    for labels, cumulative in now.items():
        old = before.get(labels, {})
        if _total(cumulative) < _total(old):
            old = {}
        for low, high, count in _steps(old, cumulative):
            if high == math.inf:
                beyond += count
                latencies.add(max(low, 0.0) * scale * (1 + 1e-3), count)
            elif high >= 0:
                _spread(latencies, max(low, 0.0) * scale, high * scale, count)
    return Gained(latencies, beyond)


def fell(before: Mapping[Labels, Cumulative], now: Mapping[Labels, Cumulative]) -> bool:
    """Whether a series counts less than before: its process was restarted or replaced."""
    return any(_total(counts) < _total(before.get(labels, {})) for labels, counts in now.items())


def largest_bound(series: Mapping[Labels, Cumulative]) -> float:
    """Largest finite bound, above which latencies cannot be distinguished; 0 if there is none."""
    bounds = (bound for cumulative in series.values() for bound in cumulative)
    return max((bound for bound in bounds if bound < math.inf), default=0.0)


def _total(cumulative: Cumulative) -> float:
    return max(cumulative.values(), default=0.0)


def _steps(old: Cumulative, new: Cumulative) -> Iterator[tuple[float, float, int]]:
    """Lower bound, upper bound and gain of each bucket; inconsistent counts are made monotonic."""
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


def _sample(line: str) -> tuple[str, dict[str, str], float | None] | None:
    """Split a line into name, labels and value; None if it is malformed."""
    labels: dict[str, str] = {}
    if (quoted := _QUOTED_NAME.match(line)) is not None:
        name, place, inside = _unescaped(quoted[1]), quoted.end(), True
    elif (named := _NAME.match(line)) is not None:
        name, place, inside = named[1], named.end(), named[2] is not None
    else:
        return None
    while inside and (end := _END.match(line, place)) is None:
        found = _LABEL.match(line, place)
        if found is None:
            return None
        labels[found[1] or _unescaped(found[2])] = _unescaped(found[3])
        place = found.end()
    if inside and end is not None:
        place = end.end()
    value = _VALUE.fullmatch(line, place)
    return None if value is None else (name, labels, _number(value[1]))


def _unescaped(text: str) -> str:
    return re.sub(r"\\.", lambda escape: _ESCAPES.get(escape.group(), escape.group()), text)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return None if math.isnan(value) else value
