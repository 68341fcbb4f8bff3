"""Hosts that differ from their peers, among hosts that should be alike."""

from __future__ import annotations

import numpy as np
import pytest

from aferir.statistics.peers import detectable, standings

ROUNDS, TRIALS = 12, 200


def fleet(
    rng: np.random.Generator, hosts: int, *, apart: float, effects: dict[int, float]
) -> dict[str, list[float]]:
    """Durations with rounds that drift, noise with heavy tails, and hosts that differ a little."""
    own = rng.normal(0.0, apart, hosts)
    for place, effect in effects.items():
        own[place] += np.log1p(effect)
    noise = 0.01 * rng.standard_t(4, (hosts, ROUNDS))
    rounds = rng.normal(0.0, 0.2, ROUNDS)
    values = np.exp(own[:, None] + rounds[None, :] + noise)
    return {f"n{place}": list(values[place]) for place in range(hosts)}


def named(values: dict[str, list[float]]) -> set[str]:
    return {one.name for one in standings(values) if one.differs}


@pytest.mark.parametrize(("hosts", "apart"), [(4, 0.01), (8, 0.0), (8, 0.01), (24, 0.01)])
def test_equal_hosts_are_seldom_reported(hosts: int, apart: float) -> None:
    """However well the rounds tell them apart: hosts of a kind do differ."""
    rng = np.random.default_rng(hosts)
    alarms = sum(bool(named(fleet(rng, hosts, apart=apart, effects={}))) for _ in range(TRIALS))
    assert alarms <= 0.05 * TRIALS + 2.5 * (0.05 * 0.95 * TRIALS) ** 0.5


def test_one_of_eight_that_is_5_percent_slower_is_named() -> None:
    rng = np.random.default_rng(5)
    found = [named(fleet(rng, 8, apart=0.004, effects={3: 0.05})) for _ in range(50)]
    assert sum("n3" in one for one in found) >= 45


def test_two_outliers_that_mask_one_another_are_both_named() -> None:
    rng = np.random.default_rng(6)
    values = fleet(rng, 16, apart=0.003, effects={3: 0.08, 7: 0.08})
    assert {"n3", "n7"} <= named(values)


def test_a_fleet_is_ranked_and_few_are_not_judged() -> None:
    rng = np.random.default_rng(7)
    found = standings(fleet(rng, 3, apart=0.0, effects={1: 0.5}))
    assert found[-1].name == "n1"
    assert not any(one.differs for one in found)
    with pytest.raises(ValueError, match="rounds"):
        standings({"a": [1.0], "b": [2.0]})


def test_hosts_that_are_equal_to_the_last_digit_are_alike() -> None:
    assert not named({f"n{k}": [1.0, 2.0, 3.0] for k in range(8)})


def test_a_difference_that_is_said_to_be_detectable_is_found_in_nine_of_ten() -> None:
    """Fleets whose hosts scatter by 1 %, with one that is as much slower as the others say."""
    rng = np.random.default_rng(8)
    said = [detectable(fleet(rng, 8, apart=0.01, effects={})) for _ in range(40)]
    typical = float(np.median([one for one in said if one is not None]))
    found = [named(fleet(rng, 8, apart=0.01, effects={3: typical})) for _ in range(TRIALS)]
    share = sum("n3" in one for one in found) / TRIALS
    assert 0.8 <= share <= 0.97


def test_three_hosts_have_no_difference_that_is_detectable() -> None:
    assert detectable(fleet(np.random.default_rng(9), 3, apart=0.01, effects={})) is None


def test_a_host_that_is_reported_does_not_make_the_fleet_look_uneven() -> None:
    rng = np.random.default_rng(10)
    alike = fleet(rng, 8, apart=0.005, effects={})
    slow = alike | {"n3": [1.5 * value for value in alike["n3"]]}
    without, beside = detectable(alike), detectable(slow)
    assert without is not None
    assert beside is not None
    assert beside < 2 * without
