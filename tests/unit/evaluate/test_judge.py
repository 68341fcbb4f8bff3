from __future__ import annotations

import math

import pytest

from aferir.evaluate.costs import Cost
from aferir.evaluate.judge import DRAWS, Judgement, judge
from aferir.evaluate.profile import Criterion, Weights
from aferir.statistics.estimates import Estimate

NAMES = ("native", "container")


def cost(criterion: Criterion, environment: str, factor: float, error: float | None = 0.0) -> Cost:
    return Cost(
        criterion=criterion,
        environment=environment,
        emulated=False,
        log=Estimate(value=math.log(factor), error=error, freedom=9, n=10),
        figures=1,
    )


def judged(*costs: Cost, names: tuple[str, ...] = NAMES, **weights: float) -> Judgement:
    return judge(costs, Weights(**weights), names, seed=1)


FASTER, CHEAPER = (
    (cost("performance", "native", 1.0), cost("performance", "container", 1.2)),
    (cost("price", "native", 2.0), cost("price", "container", 1.0)),
)


def test_the_score_is_the_weighted_geometric_mean() -> None:
    found = judged(*FASTER, *CHEAPER, performance=3, price=1)
    assert [one.environment for one in found.standings] == ["container", "native"]
    expected = (2.0 / 1.2**3) ** (1 / 4)
    assert found.standings[1].score == pytest.approx(expected)
    assert found.standings[0].score == 1.0


def test_a_weight_moves_until_another_one_is_first() -> None:
    """native = container where 1.2^w = 2, at w = ln 2 / ln 1.2 for a price of weight 1."""
    found = judged(*FASTER, *CHEAPER, performance=3, price=1)
    moves = {move.criterion: move for move in found.moves}
    faster, cheaper = moves["performance"], moves["price"]
    assert faster.below is None
    assert faster.above is not None
    assert faster.above.environment == "native"
    assert faster.above.weight == pytest.approx(math.log(2) / math.log(1.2))
    assert cheaper.below is not None
    assert cheaper.below.weight == pytest.approx(3 * math.log(1.2) / math.log(2))
    assert cheaper.above is None


@pytest.mark.parametrize(("beyond", "winner"), [(0.99, "container"), (1.01, "native")])
def test_a_weight_beyond_its_crossing_changes_the_winner(beyond: float, winner: str) -> None:
    crossing = math.log(2) / math.log(1.2)
    found = judged(*FASTER, *CHEAPER, performance=beyond * crossing, price=1)
    assert found.standings[0].environment == winner


def test_a_criterion_of_weight_0_may_move_too() -> None:
    found = judged(*FASTER, *CHEAPER, performance=1)
    assert list(found.weights) == ["performance"]
    (price,) = (move for move in found.moves if move.criterion == "price")
    assert price.weight == 0
    assert price.above is not None
    assert price.above.weight == pytest.approx(math.log(1.2) / math.log(2))


def test_exact_figures_leave_no_doubt() -> None:
    found = judged(*FASTER, performance=1)
    assert [one.first_share for one in found.standings] == [1.0, 0.0]
    assert found.standings[1].interval.low == pytest.approx(1.2)
    assert found.standings[1].interval.high == pytest.approx(1.2)


def test_equal_environments_are_first_as_often() -> None:
    """Two equal means: each is first in half of the draws, and both places are open."""
    found = judged(*(cost("performance", name, 1.0, error=0.1) for name in NAMES), performance=1)
    for one in found.standings:
        assert one.first_share == pytest.approx(0.5, abs=5 * 0.5 / math.sqrt(DRAWS))
        assert (one.best_place, one.worst_place) == (1, 2)


def test_an_environment_one_error_ahead_is_first_as_often_as_the_distribution_says() -> None:
    """P(t > -2) of 9 degrees of freedom is 0.9617."""
    found = judged(
        cost("performance", "native", 1.0, error=0.0),
        cost("performance", "container", math.exp(0.2), error=0.1),
        performance=1,
    )
    assert found.standings[0].first_share == pytest.approx(0.9617, abs=0.007)


def test_the_same_seed_gives_the_same_answer() -> None:
    costs = [cost("performance", name, 1.0, error=0.1) for name in NAMES]
    one, same, other = (judge(costs, Weights(performance=1), NAMES, seed=s) for s in (1, 1, 2))
    assert one == same
    assert one.standings != other.standings


def test_what_no_environment_has_is_left_out_and_named() -> None:
    found = judged(*FASTER, performance=1, energy=4)
    assert found.weights == {"performance": 1}
    assert [(one.criterion, one.environment) for one in found.missing] == [("energy", "")]


def test_an_environment_that_lacks_a_figure_is_not_ranked() -> None:
    found = judged(*FASTER, *CHEAPER, names=(*NAMES, "vm"), performance=1, price=1)
    assert {one.environment for one in found.standings} == set(NAMES)
    assert {(one.criterion, one.environment) for one in found.missing} == {
        ("performance", "vm"),
        ("price", "vm"),
    }


def test_figures_without_an_error_are_named() -> None:
    found = judged(cost("performance", "native", 1.0, error=None), FASTER[1], performance=1)
    assert found.unsure == ("performance of native",)


def test_without_any_complete_environment_there_is_no_ranking() -> None:
    found = judged(FASTER[0], CHEAPER[1], performance=1, price=1)
    assert found.standings == ()
    assert len(found.missing) == 2
