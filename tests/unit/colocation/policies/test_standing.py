"""How far the batch stands behind others, on states that a policy sees."""

from __future__ import annotations

from typing import Any

import pytest

from aferir.colocation.policies.aferir import Memory, aferir
from aferir.colocation.policies.parameters import parameters
from aferir.colocation.settings import Batch
from aferir.config import colocation
from aferir.config.colocation import Wanted
from aferir.errors import UsageError
from tests.unit.colocation.states import Step, latency, live

FAR, NEAR = latency(0.02), latency(0.15)
MUCH: dict[str, Any] = {
    "cores": 4,
    "service_cpus": 0.5,
    "batch_cpus": 0.2,
    "idle_cpus": 0.0,
    "threads": (),
}
"""Others use 3.3 of four processors, and the service's threads cannot have reservations."""
LITTLE: dict[str, Any] = {**MUCH, "batch_cpus": 2.8}
"""Others use 0.7 of four: company."""


def batch(seconds: float = 5.0, *, share: float | None = None, **given: Any) -> Batch:
    given_parameters = {} if share is None else {"batch_share": share}
    return live(aferir(parameters(given_parameters)), seconds, **given).batch


def test_beside_much_other_work_the_batch_has_everybodys_rank_while_the_sla_is_far() -> None:
    got = batch(latency=FAR, **MUCH)
    assert (got.idle, got.policy, got.weight) == (False, "other", 100)


def test_near_the_sla_it_stands_behind_everybody() -> None:
    assert batch(latency=NEAR, **MUCH).idle
    assert batch(latency=NEAR, share=2.0, **MUCH).idle


def test_company_is_given_way_to_unless_the_user_says_otherwise() -> None:
    assert batch(latency=FAR, **LITTLE).idle
    got = batch(latency=FAR, share=0.25, **LITTLE)
    assert (got.idle, got.weight) == (False, 25)


@pytest.mark.parametrize("others", [MUCH, LITTLE])
def test_a_share_of_nothing_stands_behind_everybody(others: dict[str, Any]) -> None:
    assert batch(latency=FAR, share=0.0, **others).idle


def test_a_share_of_nothing_stays_behind_where_processors_idle_too() -> None:
    few: dict[str, Any] = {**MUCH, "batch_cpus": 1.0, "idle_cpus": 2.0}
    assert not batch(latency=FAR, **few).idle
    assert batch(latency=FAR, share=0.0, **few).idle


def test_threads_of_which_all_are_taken_end_the_share_though_the_quantile_is_far() -> None:
    assert batch(latency=FAR, occupied=1.0, **MUCH).idle


def test_a_share_that_did_harm_comes_back_later_each_time() -> None:
    decide = aferir()
    now: Step | None = None
    waits = []
    for _ in range(3):
        now = live(decide, 5.0, now, latency=FAR, **MUCH)
        began = now.memory.values["share_after_s"]
        now = live(decide, 1.0, now, latency=NEAR, **MUCH)
        waits.append(now.memory.values["share_wait_s"])
        assert now.batch.idle
        values = {**now.memory.values, "share_after_s": began}
        now = Step(batch=now.batch, memory=Memory(values))
    assert waits == [60.0, 120.0, 240.0]


@pytest.mark.parametrize(("said", "share"), [("0.5", 0.5), ("50%", 0.5), (2, 2.0), ("0", 0.0)])
def test_a_share_is_said_as_a_number_or_as_a_percentage(said: str | int, share: float) -> None:
    assert colocation.parameters(Wanted(batch_share=said)) == {"batch_share": share}


@pytest.mark.parametrize("said", ["-1", "half", "nan", "101", "%"])
def test_another_share_is_refused(said: str) -> None:
    with pytest.raises(UsageError, match="--batch-share"):
        colocation.parameters(Wanted(batch_share=said))
