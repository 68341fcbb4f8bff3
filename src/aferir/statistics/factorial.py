"""Two-level designs: which factors are at which of two levels in each run. Pure.

Every run is a tuple of +1 (the factor is there) and -1 (it is taken away), one for each factor. A
design has 2^m runs for up to 2^(m-1) factors: the columns of the first m factors are those of a
whole factorial, each further one is the product of an odd number of them. Then every word of the
defining relation has an even length of at least four (resolution IV, Box and Hunter 1961), which
means two things: no main effect is mixed up with another or with an interaction of two factors,
and the run with everything and the run with nothing are both in it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from aferir.statistics.arrays import Array

Run = tuple[int, ...]
MOST_FACTORS = 16


def fraction(factors: int) -> tuple[Run, ...]:
    """The runs of a design of resolution IV, in standard order; the first has everything.

    Errors: ValueError for no factor, or more than `MOST_FACTORS`.
    """
    if not 1 <= factors <= MOST_FACTORS:
        raise ValueError(f"a design has 1 to {MOST_FACTORS} factors, not {factors}")
    basic = 1
    while 2 ** (basic - 1) < factors:
        basic += 1
    columns = _columns(basic)[:factors]
    return tuple(
        tuple(int(np.prod([signs[k] for k in column])) for column in columns)
        for signs in itertools.product((1, -1), repeat=basic)
    )


def fold_over(runs: Sequence[Run], factor: int) -> tuple[Run, ...]:
    """The same runs, and once more with the levels of one factor the other way round.

    All interactions of two factors with that one are then clear of all others (Montgomery 2013,
    section 8.6.2). A run that is there already is not made twice.
    """
    mirrored = (tuple(-x if k == factor else x for k, x in enumerate(run)) for run in runs)
    return tuple(dict.fromkeys((*runs, *mirrored)))


def main_weights(runs: Sequence[Run], factor: int) -> Array:
    """Weights of the runs whose sum is what the factor adds on average over all others' levels."""
    return 2.0 / len(runs) * np.array([run[factor] for run in runs], dtype=np.float64)


def pair_weights(runs: Sequence[Run], pair: tuple[int, int]) -> Array:
    """Weights of what two factors together add beyond what each adds where the other is not."""
    products = [run[pair[0]] * run[pair[1]] for run in runs]
    return 4.0 / len(runs) * np.array(products, dtype=np.float64)


def alias_chains(runs: Sequence[Run]) -> tuple[tuple[tuple[int, int], ...], ...]:
    """Pairs of factors, those together whose interactions these runs cannot tell apart."""
    chains: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for pair in itertools.combinations(range(len(runs[0])), 2):
        column = tuple(run[pair[0]] * run[pair[1]] for run in runs)
        chains.setdefault(column, []).append(pair)
    return tuple(tuple(chain) for chain in chains.values())


def _columns(basic: int) -> list[tuple[int, ...]]:
    """Products of an odd number of basic factors: these themselves first, then the longest.

    Long words first keep interactions apart for as long as there are few factors.
    """
    odd = [
        column
        for size in range(3, basic + 1, 2)
        for column in itertools.combinations(range(basic), size)
    ]
    return [*((k,) for k in range(basic)), *sorted(odd, key=lambda column: -len(column))]
