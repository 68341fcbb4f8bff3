from __future__ import annotations

import itertools

import numpy as np
import pytest

from aferir.statistics.factorial import (
    MOST_FACTORS,
    alias_chains,
    fold_over,
    fraction,
    main_weights,
    pair_weights,
)

SIZES = {1: 2, 2: 4, 3: 8, 4: 8, 5: 16, 8: 16, 9: 32, 16: 32}


@pytest.mark.parametrize(("factors", "runs"), SIZES.items())
def test_a_design_has_a_power_of_two_of_different_runs(factors: int, runs: int) -> None:
    made = fraction(factors)
    assert len(made) == len(set(made)) == runs
    assert {len(run) for run in made} == {factors}


@pytest.mark.parametrize("factors", range(1, MOST_FACTORS + 1))
def test_each_factor_and_each_two_of_them_are_balanced(factors: int) -> None:
    runs = np.array(fraction(factors))
    assert (runs.sum(axis=0) == 0).all()
    assert (runs.T @ runs == len(runs) * np.eye(factors)).all()


@pytest.mark.parametrize("factors", range(1, MOST_FACTORS + 1))
def test_everything_comes_first_and_nothing_last(factors: int) -> None:
    runs = fraction(factors)
    assert runs[0] == (1,) * factors
    assert runs[-1] == (-1,) * factors


@pytest.mark.parametrize("factors", range(2, MOST_FACTORS + 1))
def test_no_main_effect_is_mixed_with_an_interaction_of_two(factors: int) -> None:
    runs = np.array(fraction(factors))
    for one, two in itertools.combinations(range(factors), 2):
        assert (runs.T @ (runs[:, one] * runs[:, two]) == 0).all()


def test_three_factors_have_their_interactions_to_themselves() -> None:
    assert all(len(chain) == 1 for chain in alias_chains(fraction(3)))


def test_four_factors_in_eight_runs_have_pairs_of_interactions() -> None:
    chains = alias_chains(fraction(4))
    assert sorted(chains) == [((0, 1), (2, 3)), ((0, 2), (1, 3)), ((0, 3), (1, 2))]


@pytest.mark.parametrize("factors", [4, 6, 8, 12])
@pytest.mark.parametrize("folded", [0, 3])
def test_folding_clears_the_interactions_of_its_factor(factors: int, folded: int) -> None:
    runs = fold_over(fraction(factors), folded)
    assert len(runs) == 2 * len(fraction(factors))
    chains = {chain for chain in alias_chains(runs) if any(folded in pair for pair in chain)}
    assert len(chains) == factors - 1
    assert all(len(chain) == 1 for chain in chains)


@pytest.mark.parametrize("factors", [2, 4, 7])
def test_what_was_put_in_comes_out(factors: int) -> None:
    rng = np.random.default_rng(factors)
    effects = rng.normal(size=factors)
    runs = fold_over(fraction(factors), 0)
    together = 0.3  # of the first two, beyond what each adds alone
    values = [
        sum(effect * (x > 0) for effect, x in zip(effects, run, strict=True))
        + together * (run[0] > 0 and run[1] > 0)
        for run in runs
    ]
    averaged = effects + np.array([together / 2] * 2 + [0.0] * (factors - 2))
    for factor in range(factors):
        assert main_weights(runs, factor) @ values == pytest.approx(averaged[factor])
    assert pair_weights(runs, (0, 1)) @ values == pytest.approx(together)
    whole = values[runs.index((1,) * factors)] - values[runs.index((-1,) * factors)]
    assert averaged.sum() == pytest.approx(whole)


@pytest.mark.parametrize("factors", [0, MOST_FACTORS + 1])
def test_other_numbers_of_factors_are_refused(factors: int) -> None:
    with pytest.raises(ValueError, match="factors"):
        fraction(factors)
