"""Reports latencies as Faban does: the mean, the extremes, and the 90th and 99th percentiles.

Oliveira 2022 drove its service with Faban (4.4): each of a fixed number of users sends its next
request when the last one is answered. Only the time between ramp-up and ramp-down counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

from aferir.model.record import Series

_PERCENTILES = (90, 99)


def as_faban(latencies: Mapping[str, Sequence[float]], measured_s: float) -> tuple[Series, ...]:
    """Return each of Faban's figures, and the requests per second, as a series over the policies.

    `latencies`: those of the requests within `measured_s`, in seconds, by policy. A policy without
    any is left out.
    """
    ordered = {name: sorted(values) for name, values in latencies.items() if values}
    if not ordered:
        return ()
    figures = {
        "latency_mean_s": [fmean(values) for values in ordered.values()],
        "latency_least_s": [values[0] for values in ordered.values()],
        "latency_most_s": [values[-1] for values in ordered.values()],
        **{
            f"latency_p{percent}_s": [
                nearest_rank(values, percent / 100) for values in ordered.values()
            ]
            for percent in _PERCENTILES
        },
    }
    rates = [len(values) / measured_s for values in ordered.values()]
    names = tuple(ordered)
    return (
        *(
            Series(metric=metric, unit="s", values=tuple(values), along="policy", at=names)
            for metric, values in figures.items()
        ),
        Series(metric="requests_per_s", unit="1/s", values=tuple(rates), along="policy", at=names),
    )


def nearest_rank(ordered: Sequence[float], share: float) -> float:
    """Smallest value that at least a `share` of the `ordered` values do not exceed."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
