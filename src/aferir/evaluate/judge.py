"""Ranks environments by weighted costs, with the uncertainty of all figures. Pure.

The score is the weighted geometric mean of the costs (weighted product model, Bridgman 1922): no
criterion has to be scaled to another's range, and the baseline does not matter. Its uncertainty is
by Monte Carlo (JCGM 101:2008): every figure is drawn from Student's t about its value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from aferir.evaluate.costs import Cost
from aferir.evaluate.profile import CRITERIA, Criterion, Weights
from aferir.statistics.intervals import Interval

DRAWS = 20_000
"""Number of draws of all figures: a share of 50 % is then known to within 0.7 %."""
LEVEL = 0.95

_Scores = NDArray[np.float64]


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """Place of one environment in the ranking."""

    environment: str
    emulated: bool
    score: float
    """Weighted cost divided by that of the first environment: 1.1 for 10 % worse."""
    interval: Interval
    first_share: float
    """Share of the draws in which the environment is first."""
    best_place: int
    worst_place: int
    """Range of places (`best_place`, `worst_place`) that holds 95 % of the draws."""


class Crossing(msgspec.Struct, frozen=True):
    """A weight at which another environment becomes first if all other weights are unchanged."""

    weight: float
    environment: str


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """Range of one weight in which the same environment stays first."""

    criterion: Criterion
    weight: float
    below: Crossing | None
    """Nearest crossing below the weight; None: no other environment would be first even with a
    weight of 0.
    """
    above: Crossing | None


class Missing(msgspec.Struct, frozen=True):
    """A criterion with a weight above 0 for which an environment has no figure."""

    criterion: Criterion
    environment: str
    """Name of the environment; empty if no environment has a figure, so that the criterion is left
    out.
    """


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """Result of the whole evaluation: ranking, moves of weights, and missing figures."""

    weights: dict[str, float]
    """Weights of the criteria that were used."""
    standings: tuple[Standing, ...]
    """Environments that have every figure, the best first."""
    moves: tuple[Move, ...]
    missing: tuple[Missing, ...]
    costs: tuple[Cost, ...]
    unsure: tuple[str, ...]
    """Figures whose error is unknown, such as `price`, so that they were not drawn."""
    draws: int = DRAWS
    seed: int


def judge(
    costs: Sequence[Cost], weights: Weights, environments: Sequence[str], *, seed: int
) -> Judgement:
    """Rank `environments` by `weights`."""
    table = {(cost.criterion, cost.environment): cost for cost in costs}
    wanted = [one for one in CRITERIA if weights.of(one) > 0]
    used = [one for one in wanted if any((one, name) in table for name in environments)]
    complete = [name for name in environments if all((one, name) in table for one in used)]
    missing = [Missing(one, "") for one in wanted if one not in used]
    missing += [
        Missing(one, name) for one in used for name in environments if (one, name) not in table
    ]
    chosen = {one: weights.of(one) for one in used} if complete else {}
    own = [table[one, name] for one in used for name in complete]
    return Judgement(
        weights={str(one): weight for one, weight in chosen.items()},
        standings=_standings(table, chosen, complete, seed) if chosen else (),
        moves=_moves(table, weights, chosen, complete) if chosen else (),
        missing=tuple(missing),
        costs=tuple(cost for cost in costs if cost.environment in environments),
        unsure=tuple(
            f"{cost.criterion} of {cost.environment}" for cost in own if cost.log.error is None
        ),
        seed=seed,
    )


_Table = Mapping[tuple[Criterion, str], Cost]


def _standings(
    table: _Table, weights: Mapping[Criterion, float], names: Sequence[str], seed: int
) -> tuple[Standing, ...]:
    whole = sum(weights.values())
    scores = {
        name: sum(weight * table[one, name].log.value for one, weight in weights.items()) / whole
        for name in names
    }
    order = sorted(names, key=lambda name: (scores[name], names.index(name)))
    drawn = _draw(table, weights, order, seed)
    places = drawn.argsort(axis=1, kind="stable").argsort(axis=1, kind="stable") + 1
    tail = (1 - LEVEL) / 2
    found = []
    for i, name in enumerate(order):
        low, high = np.quantile(drawn[:, i] - scores[order[0]], [tail, 1 - tail])
        best, worst = np.quantile(places[:, i], [tail, 1 - tail], method="inverted_cdf")
        found.append(
            Standing(
                environment=name,
                emulated=any(table[one, name].emulated for one in weights),
                score=math.exp(scores[name] - scores[order[0]]),
                interval=Interval(math.exp(low), math.exp(high), LEVEL, "Monte Carlo"),
                first_share=float(np.mean(places[:, i] == 1)),
                best_place=int(best),
                worst_place=int(worst),
            )
        )
    return tuple(found)


def _draw(
    table: _Table, weights: Mapping[Criterion, float], names: Sequence[str], seed: int
) -> _Scores:
    """Scores of all environments, a row for each draw; equal for equal seed, figures and order."""
    rng, whole = np.random.default_rng(seed), sum(weights.values())
    scores = np.zeros((DRAWS, len(names)))
    for criterion, weight in weights.items():
        for i, name in enumerate(names):
            log = table[criterion, name].log
            noise = (
                rng.standard_normal(DRAWS)
                if math.isinf(log.freedom)
                else rng.standard_t(log.freedom, DRAWS)
            )
            scores[:, i] += weight / whole * (log.value + (log.error or 0.0) * noise)
    return scores


def _moves(
    table: _Table,
    weights: Weights,
    used: Mapping[Criterion, float],
    names: Sequence[str],
) -> tuple[Move, ...]:
    """Nearest values of each weight at which another environment comes first."""

    def behind(name: str) -> float:
        return sum(
            weight * (table[one, name].log.value - table[one, first].log.value)
            for one, weight in used.items()
        )

    def total(name: str) -> float:
        return sum(weight * table[one, name].log.value for one, weight in used.items())

    first = min(names, key=lambda name: (total(name), names.index(name)))
    known = [one for one in CRITERIA if all((one, name) in table for name in names)]
    found = []
    for criterion in known:
        weight, crossings = weights.of(criterion), []
        for name in names:
            more = table[criterion, name].log.value - table[criterion, first].log.value
            if name != first and more != 0:
                crossings.append(Crossing(weight - behind(name) / more, name))
        below = [one for one in crossings if 0 <= one.weight <= weight]
        above = [one for one in crossings if one.weight > weight]
        found.append(
            Move(
                criterion=criterion,
                weight=weight,
                below=max(below, key=lambda one: one.weight, default=None),
                above=min(above, key=lambda one: one.weight, default=None),
            )
        )
    return tuple(found)
