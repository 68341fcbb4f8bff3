"""P values and critical values of a centre divided by its error, for each estimator of the centre.

A mean has Student's t. The biweight of few values has a heavier tail than any t with a usual number
of degrees of freedom, so its quantiles were found by simulation (`biweight_tails.csv`). Normal
samples are the worst case among unimodal shapes: heavier tails enlarge the biweight's error, not
its centre. Multimodal samples are bounded by `concentration`.
"""

from __future__ import annotations

from functools import cache, lru_cache
from importlib import resources
from typing import Literal

import msgspec
import numpy as np

from aferir.statistics import distributions
from aferir.statistics.arrays import Array

Tail = Literal["t", "biweight"]

SMALLEST = 1e-12
"""Smallest p value that is reported."""


class _Table(msgspec.Struct, frozen=True):
    """Quantiles of |centre| / error of the biweight, one row for each number of samples."""

    levels: Array
    """Probabilities of exceeding the quantile, one for each column."""
    sizes: Array
    """Numbers of samples, one for each row; increasing."""
    quantiles: Array
    """Quantiles, by number of samples and by level."""


@cache
def _table() -> _Table:
    text = resources.files(__package__).joinpath("biweight_tails.csv").read_text(encoding="utf-8")
    head, *lines = (line.partition(",") for line in text.splitlines())
    return _Table(
        levels=np.array(head[2].split(","), dtype=float),
        sizes=np.array([size for size, _, _ in lines], dtype=float),
        quantiles=np.array([row.split(",") for _, _, row in lines], dtype=float),
    )


def two_sided(tail: Tail, n: float, value: float) -> float:
    """P(|centre| / error >= value) if the true centre is zero, from n samples."""
    if tail == "t":
        return 2 * distributions.student(max(n - 1, 1e-3), -abs(value))
    chances = _table().levels
    logs, levels = np.log(_row(n)), np.log(chances)
    at = np.log(max(abs(value), 1e-300))
    if at <= logs[0]:
        # Between p = 1 at zero and the first column.
        return float(1 - (1 - chances[0]) * np.exp(at - logs[0]))
    if at >= logs[-1]:
        slope = (levels[-1] - levels[-5]) / (logs[-1] - logs[-5])
        return float(max(np.exp(levels[-1] + slope * (at - logs[-1])), SMALLEST))
    return float(np.exp(np.interp(at, logs, levels)))


def critical(tail: Tail, n: float, level: float) -> float:
    """Value that |centre| / error exceeds with probability 1 - level, from n samples."""
    if tail == "t":
        return distributions.student_quantile(max(n - 1, 1e-3), (1 + level) / 2)
    chances = _table().levels
    logs, levels = np.log(_row(n)), np.log(chances)
    wanted = np.log(1 - level)
    if wanted >= levels[0]:
        return float(np.exp(logs[0]) * level / (1 - chances[0]))
    if wanted <= levels[-1]:
        slope = (logs[-1] - logs[-5]) / (levels[-1] - levels[-5])
        return float(np.exp(logs[-1] + slope * (wanted - levels[-1])))
    return float(np.exp(np.interp(wanted, levels[::-1], logs[::-1])))


def concentration(n: float, lost: float) -> float:
    """Largest probability that n - lost of n independent log-ratios agree on a value other than 0.

    Of two independent values of *any* one distribution the difference falls into a window [a, 2a)
    with a probability of at most 1/4: values as vertices, joined if their difference lies in the
    window, make a graph without triangles, and Motzkin and Straus 1965 bound its weight. So if both
    sides have the same distribution, the number of pairs that agree is at most binomial with 1/4,
    on either side of zero. So bimodal or trimodal durations are not mistaken for a shift.
    """
    agreeing = max(n - lost, 1e-9)
    return min(1.0, 2 * distributions.beta(agreeing, max(lost, 0.0) + 1, 0.25))


@lru_cache(maxsize=4096)
def _row(n: float) -> Array:
    """Row of the table, interpolated in 1 / n; beyond the table its first or last row."""
    table = _table()
    inverse = 1 / max(n, 1e-9)
    known = 1 / table.sizes[::-1]
    return np.array([np.interp(inverse, known, column[::-1]) for column in table.quantiles.T])
