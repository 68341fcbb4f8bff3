"""Two-level factorial designs: which factors are at which of two levels in each run. Pure.

Every run is a tuple with +1 (the factor is present) or -1 (it is removed) for each factor. A design
has 2^m runs for up to 2^(m-1) factors: the columns of the first m factors are those of a full
factorial, each further one is the product of an odd number of them. Then every word of the defining
relation has an even length of at least four (resolution IV, Box and Hunter 1961). So no main effect
is aliased with another one or with an interaction of two factors, and the design contains both the
run with all factors and the run with none.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aferir.statistics.arrays import Array

Run = tuple[int, ...]
MOST_FACTORS = 16


def fraction(factors: int) -> tuple[Run, ...]:
    """Runs of a design of resolution IV in standard order; the first one has all factors.

    Errors: ValueError for no factor, or more than `MOST_FACTORS`.
    """
    if not 1 <= factors <= MOST_FACTORS:
        raise ValueError(f"a design has 1 to {MOST_FACTORS} factors, not {factors}")
    basic = 1
    while 2 ** (basic - 1) < factors:
        basic += 1
    columns = _columns(basic)[:factors]
    return tuple(
        tuple(math.prod(signs[k] for k in column) for column in columns)
        for signs in itertools.product((1, -1), repeat=basic)
    )


def fold_over(runs: Sequence[Run], factor: int) -> tuple[Run, ...]:
    """Return the runs, and again with the levels of one factor reversed.

    All two-factor interactions that include `factor` are then free of aliases (Montgomery 2013,
    section 8.6.2). A run that exists already is not repeated.
    """
    mirrored = (tuple(-x if k == factor else x for k, x in enumerate(run)) for run in runs)
    return tuple(dict.fromkeys((*runs, *mirrored)))


def main_weights(runs: Sequence[Run], factor: int) -> Array:
    """Weights of the runs in the weighted sum that is the main effect of a factor."""
    import numpy as np  # an agent plans and has no NumPy

    return 2.0 / len(runs) * np.array([run[factor] for run in runs], dtype=np.float64)


def pair_weights(runs: Sequence[Run], pair: tuple[int, int]) -> Array:
    """Weights of the runs in the weighted sum that is the interaction of two factors.

    The interaction is what both factors together add beyond what each adds without the other.
    """
    import numpy as np

    products = [run[pair[0]] * run[pair[1]] for run in runs]
    return 4.0 / len(runs) * np.array(products, dtype=np.float64)


def alias_chains(runs: Sequence[Run]) -> tuple[tuple[tuple[int, int], ...], ...]:
    """Groups of pairs of factors whose interactions `runs` cannot tell apart (aliases)."""
    chains: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for pair in itertools.combinations(range(len(runs[0])), 2):
        column = tuple(run[pair[0]] * run[pair[1]] for run in runs)
        chains.setdefault(column, []).append(pair)
    return tuple(tuple(chain) for chain in chains.values())


def _columns(basic: int) -> list[tuple[int, ...]]:
    """Products of an odd number of basic factors: single ones first, then the longest.

    Taking long products first separates more interactions if there are few factors.
    """
    odd = [
        column
        for size in range(3, basic + 1, 2)
        for column in itertools.combinations(range(basic), size)
    ]
    return [*((k,) for k in range(basic)), *sorted(odd, key=lambda column: -len(column))]
