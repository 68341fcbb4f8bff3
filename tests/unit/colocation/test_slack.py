"""When a batch of few threads is given a rank beside processors that idle."""

from __future__ import annotations

from typing import Any

import pytest

from aferir.colocation.policies.aferir import aferir
from aferir.colocation.policies.slack import in_steps
from aferir.colocation.settings import Batch, ThreadUse
from tests.unit.colocation.states import Step, latency, live, state, step

_FEW: dict[str, Any] = {"batch_cpus": 0.75, "idle_cpus": 0.6, "latency": latency(0.02)}
"""A batch of fewer threads than processors, beside a service that is far from its SLA."""
_WHOLE: dict[str, Any] = {**_FEW, "batch_cpus": 0.97}
"""One that has its processors as good as whole, to which more weight gives nothing."""
_MIDDLE: dict[str, Any] = {**_WHOLE, "service_cpus": 0.8}
"""A service that is not so light that the batch had better have processors of its own."""
_SLACK = Batch(weight=1)
_GIVES_WAY = Batch(policy="idle", idle=True)


def _goes_on(now: Step, seconds: float, **given: Any) -> Step:
    """From 105 s on, or from when `now` was decided."""
    decide, since_s = aferir(), now.memory.values["time_s"]
    for turn in range(1, round(seconds * 10) + 1):
        now = step(decide, state(**{**given, "time_s": since_s + turn / 10, "now": now}))
    return now


def test_a_batch_beside_idle_processors_gets_a_rank_while_the_sla_is_far() -> None:
    assert live(aferir(), 5, **_MIDDLE).batch == _SLACK
    near = {**_FEW, "latency": latency(0.08)}
    assert live(aferir(), 5, **near).batch == _GIVES_WAY
    busy = {**_FEW, "batch_cpus": 1.4, "idle_cpus": 0.0}
    assert live(aferir(), 5, **busy).batch == _GIVES_WAY
    waiting = {**_FEW, "batch_cpus": 0.05, "idle_cpus": 1.4}
    assert live(aferir(), 5, **waiting).batch == _GIVES_WAY


def test_a_rank_that_brings_the_sla_near_is_taken_away_for_longer_each_time() -> None:
    decide, now, given = aferir(), live(aferir(), 5, **_MIDDLE), []
    for turn in range(3000):
        quantile = latency(0.12 if now.batch == _SLACK else 0.02)
        now = step(
            decide,
            state(**{**_MIDDLE, "time_s": 105 + turn / 10, "latency": quantile, "now": now}),
        )
        if now.batch == _SLACK:
            given.append(105 + turn / 10)
    assert len(given) == 3
    assert given[0] - 105 == pytest.approx(30, abs=1)
    assert given[1] - given[0] == pytest.approx(60, abs=1)
    assert given[2] - given[1] == pytest.approx(120, abs=1)


def test_workers_that_one_processor_does_not_suffice_get_each_its_own() -> None:
    names = (("nginx", 0.5), ("nginx", 0.5), ("nginx: master", 0.0))
    threads = tuple(ThreadUse(tid=7 - k, name=n, cpus=used) for k, (n, used) in enumerate(names))
    heavy = live(aferir(), 5, **_WHOLE, threads=threads, service_cpus=1.0)
    assert {tid: one.cpus for tid, one in heavy.threads.items()} == {6: (0,), 7: (1,)}
    assert {one.policy for one in heavy.threads.values()} == {"other"}
    assert heavy.batch == _SLACK
    light = live(aferir(), 5, **_WHOLE, threads=threads, service_cpus=0.7)
    assert light.threads == {}
    assert light.batch == _SLACK
    near = {**_WHOLE, "latency": latency(0.08)}
    strict = live(aferir(), 5, **near, threads=threads, service_cpus=1.0)
    assert {one.policy for one in strict.threads.values()} == {"deadline"}


def test_workers_keep_their_processors_until_one_suffices_with_some_to_spare() -> None:
    threads = tuple(ThreadUse(tid=tid, name="nginx", cpus=0.4) for tid in (1, 2))
    made = live(aferir(), 5, **_WHOLE, threads=threads, service_cpus=0.9)
    for used, spread in ((0.8, True), (0.7, False), (0.8, False)):
        made = _goes_on(made, 3, **_WHOLE, threads=threads, service_cpus=used)
        assert bool(made.threads) is spread


def test_workers_near_what_they_could_use_have_reservations_and_the_batch_no_rank() -> None:
    threads = tuple(ThreadUse(tid=tid, name="nginx", cpus=0.6) for tid in (1, 2))
    easy = {**_WHOLE, "threads": threads, "service_cpus": 1.0}
    strained = {**easy, "service_cpus": 1.35, "batch_cpus": 0.43, "idle_cpus": 0.22}
    assert {one.policy for one in live(aferir(), 5, **strained).threads.values()} == {"deadline"}
    ranked = live(aferir(), 5, **easy)
    full = _goes_on(ranked, 4, **{**strained, "idle_cpus": 0.1, "batch_cpus": 0.55})
    assert {one.policy for one in full.threads.values()} == {"deadline"}
    assert full.batch == Batch()
    assert {one.policy for one in _goes_on(full, 20, **easy).threads.values()} == {"deadline"}


def test_workers_that_use_up_their_reservations_have_processors_of_their_own() -> None:
    threads = tuple(ThreadUse(tid=tid, name="nginx", cpus=0.8) for tid in (1, 2))
    full: dict[str, Any] = {
        "threads": threads,
        "service_cpus": 1.65,
        "batch_cpus": 0.3,
        "idle_cpus": 0.05,
    }
    far = live(aferir(), 5, **full)
    assert {one.policy for one in far.threads.values()} == {"deadline"}
    squeezed = _goes_on(far, 1, **full, latency=latency(0.07))
    assert [one.cpus for one in squeezed.threads.values()] == [(0,), (1,)]
    assert squeezed.batch == _GIVES_WAY
    stays = _goes_on(squeezed, 30, **{**full, "service_cpus": 1.5})
    assert [one.cpus for one in stays.threads.values()] == [(0,), (1,)]
    less = {**full, "service_cpus": 1.2, "batch_cpus": 0.75}
    assert {one.policy for one in _goes_on(stays, 8, **less).threads.values()} == {"other"}
    after = _goes_on(stays, 12, **less)
    assert {one.policy for one in after.threads.values()} == {"deadline"}
    # Where others work, it is reservations that keep the service before them, if it has to be.
    crowded = {**full, "batch_cpus": 0.0}
    third = _goes_on(far, 3, **crowded, latency=latency(0.07))
    assert third.threads == {}
    third = _goes_on(far, 3, **crowded, latency=latency(0.3))
    assert {one.policy for one in third.threads.values()} == {"deadline"}


def test_processors_of_their_own_do_not_count_as_reservations_that_came_too_late() -> None:
    threads = tuple(ThreadUse(tid=tid, name="nginx", cpus=0.5) for tid in (1, 2))
    made = live(aferir(), 5, **_WHOLE, threads=threads, service_cpus=1.0)
    late = {**_WHOLE, "latency": latency(0.096), "threads": threads, "service_cpus": 1.0}
    made = _goes_on(made, 1, **late)
    assert {one.policy for one in made.threads.values()} == {"deadline"}


def test_the_weight_rises_while_it_gives_the_batch_more_and_the_service_is_at_ease() -> None:
    weights = [live(aferir(), seconds, **_FEW).batch.weight for seconds in (2, 2.5, 6)]
    assert weights == sorted(weights)
    assert weights[0] < 100 < weights[-1] == 316
    assert live(aferir(), 10, **_FEW, occupied=0.8).batch == _SLACK
    assert live(aferir(), 10, **{**_FEW, "latency": latency(0.05)}).batch == _GIVES_WAY


def test_how_full_the_pool_is_decides_and_not_what_idles_beside_it() -> None:
    busy = {**_FEW, "service_cpus": 1.5, "batch_cpus": 0.35, "idle_cpus": 0.1}
    assert live(aferir(), 6, **busy, occupied=0.6).batch.weight == 316
    assert live(aferir(), 6, **{**busy, "idle_cpus": 0.02}, occupied=0.6).batch == _GIVES_WAY


def test_others_who_work_there_have_no_less_weight_than_the_batch() -> None:
    threads = tuple(ThreadUse(tid=tid, name="nginx", cpus=0.1) for tid in (1, 2))
    crowded = {**_FEW, "batch_cpus": 0.6, "idle_cpus": 0.5}
    assert live(aferir(), 8, **crowded, threads=threads, service_cpus=0.2).batch.weight == 100


def test_a_weight_that_has_requests_queue_falls_and_comes_back_slowly_and_not_so_far() -> None:
    risen = live(aferir(), 6, **_FEW)
    fallen = _goes_on(risen, 1, **_FEW, occupied=0.95)
    assert fallen.batch.weight == 100
    assert _goes_on(fallen, 3, **_FEW).batch.weight == 100
    assert _goes_on(fallen, 20, **_FEW).batch.weight == 316
    full = _goes_on(risen, 1, **_FEW, occupied=1.0)
    assert full.batch.weight == 31
    assert _goes_on(full, 3, **_FEW).batch.weight == 100


def test_a_weight_that_breaks_the_sla_falls_by_two_decades_and_the_batch_is_not_shrunk() -> None:
    risen = live(aferir(), 6, **_FEW)
    fallen = _goes_on(risen, 0.5, **{**_FEW, "latency": latency(0.4)})
    assert fallen.batch == Batch(weight=3)


def test_a_rate_that_rises_takes_the_weight_away_before_it_is_felt() -> None:
    risen = live(aferir(), 5, **_FEW)
    fallen = _goes_on(risen, 0.1, **_FEW, rate=200.0)
    assert fallen.batch == _SLACK


def test_a_weight_ends_where_the_batch_turns_out_to_have_more_threads() -> None:
    risen = live(aferir(), 6, **_FEW)
    assert risen.batch.weight == 316
    assert _goes_on(risen, 0.5, **{**_FEW, "batch_cpus": 1.6, "idle_cpus": 0.0}).batch.idle


@pytest.mark.parametrize(("weight", "step"), [(1, 1), (3, 1), (3.2, 3), (99, 31), (1000, 1000)])
def test_weights_are_set_in_steps_of_half_a_decade(weight: float, step: int) -> None:
    assert in_steps(weight) == step


_LIGHT_SERVICE: dict[str, Any] = {**_FEW, "batch_cpus": 0.92, "idle_cpus": 0.7}


def test_a_light_service_and_its_batch_have_processors_of_their_own() -> None:
    middle = {**_LIGHT_SERVICE, "latency": latency(0.08)}
    made = live(aferir(), 5, **middle, service_cpus=0.3)
    assert (made.service_cpus, made.batch.cpus) == ((0,), (1,))
    assert made.batch.weight == 100
    assert made.threads == {}
    near = _goes_on(made, 3, **{**_LIGHT_SERVICE, "latency": latency(0.14)}, service_cpus=0.3)
    assert (near.service_cpus, near.batch) == ((), _GIVES_WAY)
    for seconds, apart in ((20, ()), (12, (1,))):
        near = _goes_on(near, seconds, **middle, service_cpus=0.3)
        assert near.batch.cpus == apart
    broken = _goes_on(made, 0.1, **{**_LIGHT_SERVICE, "latency": latency(0.5)}, service_cpus=0.3)
    assert broken.batch.suspended
    busier = _goes_on(made, 3, **middle, service_cpus=0.85)
    assert (busier.service_cpus, busier.batch.cpus) == ((), ())


def test_processors_are_kept_apart_with_hysteresis_and_never_for_a_batch_that_uses_them_half() -> (
    None
):
    for used, apart in ((0.65, True), (0.75, False)):
        made = live(aferir(), 5, **_LIGHT_SERVICE, service_cpus=used)
        assert bool(made.batch.cpus) is apart
    made = live(aferir(), 5, **_LIGHT_SERVICE, service_cpus=0.6)
    assert _goes_on(made, 3, **_LIGHT_SERVICE, service_cpus=0.75).batch.cpus == (1,)
    queued = _goes_on(made, 3, **_LIGHT_SERVICE, service_cpus=0.6, occupied=0.97)
    assert queued.batch.cpus == ()
    half = {**_LIGHT_SERVICE, "batch_cpus": 0.6}
    assert live(aferir(), 5, **half, service_cpus=0.3).batch.cpus == ()


def test_a_batch_on_processors_of_its_own_may_show_from_time_to_time_that_it_wants_more() -> None:
    decide, now, apart = aferir(), live(aferir(), 5, **_LIGHT_SERVICE, service_cpus=0.3), []
    for turn in range(1, 301):
        given = state(**_LIGHT_SERVICE, service_cpus=0.3, time_s=105 + turn / 10, now=now)
        now = step(decide, given)
        apart.append(bool(now.batch.cpus))
    assert 0.85 < sum(apart) / len(apart) < 0.95
    for turn in range(1, 301):
        used = {"batch_cpus": 0.95 if now.batch.cpus else 1.6, "idle_cpus": 0.1}
        changed = {**_LIGHT_SERVICE, **used, "service_cpus": 0.3, "time_s": 135 + turn / 10}
        now = step(decide, state(**changed, now=now))
    assert now.batch == _GIVES_WAY
