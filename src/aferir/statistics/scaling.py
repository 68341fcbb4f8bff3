"""Growth of a cost with the number of cores, and the range of valid projections.

The Universal Scalability Law (Gunther 1993) for the cost of an operation:

    cost(N) = cost(1) * (1 + alpha * (N - 1) + beta * N * (N - 1))

alpha is contention, beta coherency; the linear model has beta = 0. Neither is negative.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import scipy  # it imports its `optimize` when that is first used
from numpy.typing import NDArray

WIDEST = 3.0
"""Largest ratio of the upper to the lower bound at which a projection is still reported."""
_RESAMPLES = 1000


class Scaling(msgspec.Struct, frozen=True):
    """A scaling law that was fitted to costs."""

    first: float
    """Cost of an operation on one core."""
    alpha: float
    beta: float

    def at(self, cores: float) -> float:
        """Cost of an operation on `cores` cores."""
        more = cores - 1
        return self.first * (1 + self.alpha * more + self.beta * cores * more)


class Projection(msgspec.Struct, frozen=True, kw_only=True):
    """Cost that a fitted scaling law predicts for a number of cores that was not measured."""

    cores: int
    law: Scaling
    growth: float | None
    """Ratio of the projected cost to the cost on one core; None if the projection is refused."""
    low: float
    high: float
    """Upper end of the bootstrap interval of the growth."""
    refused: str = ""
    """Reason why no growth is reported."""
    held_out_error: float | None = None
    """Relative error at the largest measured number of cores, when predicted from the smaller ones.
    """


def fit(costs: Mapping[int, Sequence[float]], *, linear: bool = False) -> Scaling:
    """Law fitted to the mean costs by cores, by least squares of relative errors.

    Errors: ValueError if there are fewer than two numbers of cores, or a cost is not positive.
    """
    basis, means = _weighted(costs, linear=linear)
    found, _ = scipy.optimize.nnls(basis, np.ones_like(means))
    if found[0] <= 0:
        raise ValueError("the costs do not come from any cost on one core")
    return _law(found)


def project(
    costs: Mapping[int, Sequence[float]],
    cores: int,
    *,
    linear: bool = False,
    level: float = 0.95,
    seed: int = 0,
) -> Projection:
    """Growth of the cost from one core to `cores`, with repetitions resampled for each number.

    Refused if the interval is wider than `WIDEST`, if the fit of the smaller numbers misses
    the largest measured one by more than half, and if there are too few numbers to fit the law.

    Errors: as in `fit`.
    """
    law = fit(costs, linear=linear)
    basis, means = _weighted(costs, linear=linear)
    rng = np.random.default_rng(seed)
    drawn = np.stack(
        [
            np.mean(rng.choice(np.asarray(costs[n], dtype=float), (_RESAMPLES, len(costs[n]))), 1)
            for n in sorted(costs)
        ],
        axis=1,
    )
    # Without bounds: a coefficient that is clipped at 0 would hide its uncertainty.
    resampled = [_law(found) for found in (drawn / means) @ np.linalg.pinv(basis).T]
    growths = [one.at(cores) / one.first for one in resampled]
    tail = (1 - level) / 2
    low, high = (float(q) for q in np.quantile(growths, [tail, 1 - tail]))
    error = _held_out(costs, linear=linear)
    why = _refusal(low, high, error)
    growth = None if why else law.at(cores) / law.first
    return Projection(
        cores=cores,
        law=law,
        growth=growth,
        low=low,
        high=high,
        refused=why,
        held_out_error=error,
    )


def _held_out(costs: Mapping[int, Sequence[float]], *, linear: bool) -> float | None:
    largest = max(costs)
    rest = {n: runs for n, runs in costs.items() if n != largest}
    if len(rest) < (2 if linear else 3):
        return None
    measured = float(np.mean(costs[largest]))
    return fit(rest, linear=linear).at(largest) / measured - 1


def _refusal(low: float, high: float, error: float | None) -> str:
    if low <= 0 or high / low > WIDEST:
        return f"the interval of the projection, {low:.3g} to {high:.3g}, says nothing"
    if error is None:
        return "as many sizes were measured as the law has terms: none is left to judge it by"
    if abs(error) > 0.5:
        return f"the largest size measured is missed by {100 * error:+.0f} %"
    return ""


def _law(coefficients: NDArray[np.float64]) -> Scaling:
    first = float(coefficients[0])
    beta = float(coefficients[2]) / first if len(coefficients) > 2 else 0.0
    return Scaling(first, float(coefficients[1]) / first, beta)


def _weighted(
    costs: Mapping[int, Sequence[float]], *, linear: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Terms of the law over the mean cost, one row for each number of cores, and the mean costs."""
    if len(costs) < 2:
        raise ValueError("a law takes costs of two numbers of cores at least")
    cores = np.asarray(sorted(costs), dtype=float)
    means = np.asarray([np.mean(costs[int(n)]) for n in cores])
    if not (np.all(np.isfinite(means)) and np.all(means > 0)):
        raise ValueError("a cost is not positive")
    columns = [np.ones_like(cores), cores - 1]
    if not linear:
        columns.append(cores * (cores - 1))
    return np.stack(columns, axis=1) / means[:, None], means
