"""Compares two sides with several runs each; intervals include the variation between runs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from aferir.model.record import Warning
from aferir.statistics.arrays import Array, Values, exp, positive_logs
from aferir.statistics.intervals import Interval
from aferir.statistics.ratio import Ratio, unpaired_ratio
from aferir.statistics.stalls import costs
from aferir.statistics.student import satterthwaite
from aferir.statistics.tails import critical, two_sided


def ratio_of_runs(
    values: Sequence[Values], baseline: Sequence[Values], *, level: float = 0.95
) -> Ratio:
    """Ratio of two sides with several runs each; with one run each, of their samples.

    Each run counts once, by its pseudo-median on logarithms (Hodges and Lehmann 1963), and the runs
    are compared by Welch's t. If one side has a single run, the other side's variance is assumed
    for both. Runs without a positive sample are left out.
    """
    sides = [
        [logs for run in side if (logs := positive_logs(run)[0]).size]
        for side in (values, baseline)
    ]
    above, below = sides
    if len(above) <= 1 and len(below) <= 1:
        return unpaired_ratio(*(np.exp(s[0]) if s else np.empty(0) for s in sides), level=level)
    if not (above and below):
        return unpaired_ratio(
            *(np.exp(np.concatenate(s)) if s else np.empty(0) for s in sides), level=level
        )
    a, b = (np.array([_pseudo_median(run) for run in side]) for side in sides)
    centre = float(a.mean() - b.mean())
    error, freedom = _error(a, b)
    half = critical("t", freedom + 1, level) * error
    method = f"Welch's t of {a.size} and {b.size} runs"
    pooled = [np.exp(np.concatenate(side)) for side in sides]
    few = min(a.size, b.size) < 2
    return Ratio(
        estimate=math.exp(centre),
        interval=Interval(math.exp(max(centre - half, -745)), exp(centre + half), level, method),
        p_value=two_sided("t", freedom + 1, centre / error) if error else float(centre == 0),
        n=int(a.size),
        n_baseline=int(b.size),
        paired=False,
        method=method,
        log_error=error,
        freedom=freedom,
        costs=costs(*pooled, paired=False, level=level),
        warnings=(_one_run(),) if few else (),
    )


def between_two_runs(ratio: Ratio) -> Ratio:
    """Ratio of one run on each side, with a warning that the variation between runs is unknown."""
    return msgspec.structs.replace(ratio, warnings=(*ratio.warnings, _one_run()))


def _error(a: Array, b: Array) -> tuple[float, float]:
    """Standard error of the difference of means, and degrees of freedom; one side has n >= 2."""
    if min(a.size, b.size) < 2:
        more = a if a.size > b.size else b
        spread = float(np.std(more, ddof=1))
        return spread * math.sqrt(1 / a.size + 1 / b.size), more.size - 1.0
    parts = float(a.var(ddof=1)) / a.size, float(b.var(ddof=1)) / b.size
    return math.sqrt(sum(parts)), satterthwaite(parts, (a.size - 1, b.size - 1))


def _pseudo_median(logs: Array) -> float:
    i, j = np.triu_indices(logs.size)
    return float(np.median((logs[i] + logs[j]) / 2))


def _one_run() -> Warning:
    return Warning(
        "one-run",
        "how much two runs of the same thing differ cannot be told from one run",
        "give several runs of each side: aferir compare A1 A2 --against B1 B2",
    )
