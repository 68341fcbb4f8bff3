"""The search for parameters on simulated time: candidates, the choice, and the claim."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.colocation.policies import make
from aferir.colocation.policies.parameters import Parameters, parameters, ranges
from aferir.colocation.settings import Sla
from aferir.colocation.simulation import search, trial
from aferir.colocation.simulation.load import Load
from aferir.colocation.simulation.search import Result, Trial
from aferir.colocation.simulation.trial import Scenario
from aferir.errors import UsageError

SHORT = Scenario(duration_s=6.0, load=Load(steps=((0.0, 0.4),)))
DEFAULT = Parameters()


class Model:
    """Batch work is what `shrink` says, and the service level is broken above `breaks`."""

    def __init__(self, breaks: float = 1.0, noise: float = 0.0) -> None:
        self.breaks = breaks
        self.noise = noise
        self.seeds: list[set[int]] = []

    def run(self, trials: Sequence[Trial]) -> Iterator[Result]:
        self.seeds.append({one.seed for one in trials})
        for one in trials:
            shrink = one.parameters.shrink
            yield Result(
                meets=shrink <= self.breaks,
                quantile_s=0.1,
                batch_share=shrink + self.noise * (hash((one.seed, shrink)) % 100 - 50),
                system_worst_s=0.0,
            )


@given(st.integers(1, 40), st.lists(st.sampled_from(search.SEARCHED), min_size=1, unique=True))
def test_candidates_are_within_their_ranges_and_the_defaults_come_first(
    count: int, names: list[str]
) -> None:
    found = search.candidates(count, names, seed=1)
    assert len(found) == count
    assert found[0] == DEFAULT
    for one in found:
        assert parameters(msgspec.to_builtins(one)) == one
        changed = {name for name in ranges() if getattr(one, name) != getattr(DEFAULT, name)}
        assert changed <= {*names, "near"}


def test_every_range_of_a_candidate_is_looked_at_all_over() -> None:
    found = search.candidates(65, ["shrink", "grow_per_s"], seed=2)[1:]
    drawn = sorted(one.shrink for one in found)
    assert all(0.9 * k / 64 - 0.001 < x < 0.9 * (k + 1) / 64 + 0.001 for k, x in enumerate(drawn))
    assert 0.15 < sorted(one.grow_per_s for one in found)[32] < 0.35  # of 0.01 to 5, by logarithm


def test_fewer_candidates_are_tried_more_often_and_the_last_beside_the_defaults() -> None:
    assert list(search.rounds(32)) == [(32, 2), (8, 4), (2, 8), (2, 8)]
    assert list(search.rounds(1)) == [(2, 8)]


def test_what_has_the_batch_do_most_and_keeps_the_service_level_is_found() -> None:
    model = Model(breaks=0.7)
    tried = search.candidates(32, ["shrink"], seed=3)
    found = search.search(SHORT, tried, 1, model.run)
    assert found.parameters == max(
        (one for one in tried if one.shrink <= 0.7), key=lambda one: one.shrink
    )
    assert [one.scenario for one in found.beside] == list(search.scenarios(SHORT))
    assert found.batch.estimate == pytest.approx(found.parameters.shrink / DEFAULT.shrink)
    assert (found.kept_alone, found.kept_by_defaults_alone) == (0, 0)


def test_rounds_and_the_comparison_use_different_requests() -> None:
    model = Model()
    search.search(SHORT, search.candidates(32, ["shrink"], seed=3), 1, model.run)
    assert sum(map(len, model.seeds)) == len(set.union(*model.seeds)) == 2 + 4 + 8 + 8


def test_chance_is_not_taken_for_something_better() -> None:
    model = Model(noise=0.01)
    tried = [DEFAULT, *(Parameters(shrink=0.5 + k / 1e6) for k in range(1, 16))]
    found = search.search(SHORT, tried, 1, model.run)
    assert found.parameters == DEFAULT
    assert found.candidate != DEFAULT


def test_who_keeps_the_service_level_more_often_is_better_with_less_batch_work() -> None:
    model = Model(breaks=0.3)
    found = search.search(SHORT, [DEFAULT, Parameters(shrink=0.2)], 1, model.run)
    assert found.parameters == Parameters(shrink=0.2)
    assert (found.kept_alone, found.kept_by_defaults_alone) == (40, 0)
    assert found.batch.estimate == pytest.approx(0.4)


def test_a_trial_is_a_run_of_the_policy_with_its_parameters() -> None:
    rare = Parameters(shrink=0.0, caution=0.3, near=0.2)
    near = Load(steps=((0.0, 0.6),))
    late = msgspec.structs.replace(SHORT, load=near, sla=Sla(0.95, 0.05), duration_s=8.0)
    ran = search.carried_out(Trial(late, rare, 5))
    outcome = trial.run(late, make("aferir", {"shrink": 0.0, "caution": 0.3, "near": 0.2}), 5)
    assert ran.batch_share == outcome.batch_share
    assert ran.batch_share != search.carried_out(Trial(late, DEFAULT, 5)).batch_share


def test_steps_are_part_of_what_a_policy_has_to_stand() -> None:
    made = search.scenarios(SHORT)
    assert made["step up"].load.steps == ((0.0, 0.4 / 3), (4.0, 0.4))
    assert made["bursts"].load.arrivals == "bursts"
    assert made["heavy tail"].load.needs == "pareto"
    assert made["as given"] == SHORT


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"shrink": 1.5}, r"\.shrink"),
        ({"shrnk": 0.5}, "shrnk"),
        ({"near": 0.7, "caution": 0.5}, "not above caution"),
        ({"hold_s": 0}, r"\.hold_s"),
    ],
)
def test_impossible_parameters_of_the_search_are_refused(
    given: dict[str, float], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        make("aferir", given)


def test_only_the_policy_that_has_parameters_takes_some() -> None:
    make("idle", {})
    with pytest.raises(UsageError, match="has no parameters"):
        make("idle", {"shrink": 0.5})
