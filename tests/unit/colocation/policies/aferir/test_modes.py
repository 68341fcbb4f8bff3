"""The table of modes: when a mode begins, takes precedence, ends, and is barred."""

from __future__ import annotations

from typing import Any

import pytest

from aferir.colocation.policies.aferir import aferir
from aferir.colocation.policies.aferir.mode import TABLE
from aferir.colocation.policies.aferir.view import Mode
from aferir.colocation.policies.parameters import parameters
from aferir.colocation.settings import Batch, Schedule, ThreadUse
from tests.unit.colocation.states import Step, latency, live, lived

FAR = latency(0.02)
NGINX: dict[str, Any] = {
    "threads": tuple(ThreadUse(tid=tid, name="nginx", cpus=0.45) for tid in (1, 2)),
    "service_cpus": 0.9,
    "batch_cpus": 1.05,
    "idle_cpus": 0.05,
    "latency": FAR,
}
POOL: dict[str, Any] = {**NGINX, "threads": NGINX["threads"] * 4, "rate": 900.0, "occupied": 0.3}
POOL["threads"] = tuple(ThreadUse(tid=tid, name="search", cpus=0.11) for tid in range(1, 9))
ONE: dict[str, Any] = {**POOL, "cores": 4, "reservable_cpus": 3.6, "idle_cpus": 1.6}
ONE |= {"service_cpus": 1.5, "batch_cpus": 0.9, "rate": 750.0}
"""One batch thread on four CPUs, of which the service uses 1.5."""


def modes(made: list[Step]) -> list[str]:
    """The modes in order, each once until it changes."""
    found: list[str] = []
    for one in made:
        if not found or found[-1] != one.explanation.mode:
            found.append(one.explanation.mode)
    return found


def mode(made: Step) -> Mode:
    return Mode(made.explanation.mode)


def crowd(**given: Any) -> dict[str, Any]:
    """Others that use what the service and the batch leave of two CPUs."""
    return {**POOL, "service_cpus": 0.5, "idle_cpus": 0.0, **given}


def test_every_mode_has_one_row_and_the_last_one_always_fits() -> None:
    assert [rule.mode for rule in TABLE] == list(Mode)
    assert TABLE[-1].mode is Mode.YIELD


def test_a_mode_that_costs_somebody_waits_and_one_that_protects_somebody_does_not() -> None:
    assert modes(lived(aferir(), 5, **NGINX)) == ["yield", "reserved"]
    assert mode(live(aferir(), 0.9, **NGINX)) is Mode.YIELD
    first = live(aferir(), 5, **POOL)
    assert mode(first) is Mode.FIRST
    assert mode(live(aferir(), 2.0, first, **crowd(batch_cpus=0.3))) is Mode.CONTENDED


def test_the_reason_and_the_time_of_the_last_change_are_told() -> None:
    made = live(aferir(), 5, **NGINX)
    assert made.explanation.why == "each worker can have nearly a whole CPU"
    assert made.explanation.since_s == pytest.approx(101.0, abs=0.11)
    late = live(aferir(), 1.5, made, **{**NGINX, "latency": latency(0.3)})
    assert late.explanation.since_s > made.explanation.since_s


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"rate": 20.0}, Mode.YIELD),  # a request takes 45 ms of CPU time
        ({"service_cpus": 1.5, "batch_cpus": 0.5, "idle_cpus": 0.0}, Mode.YIELD),
        ({"threads": ()}, Mode.YIELD),  # not known yet; they may turn out to be few
        ({"reservable_cpus": 0.0}, Mode.YIELD),  # no privilege
        ({"batch_ended": True}, Mode.YIELD),
        ({}, Mode.FIRST),
    ],
)
def test_fifo_is_for_short_requests_of_a_known_pool_that_leaves_some_cpus(
    given: dict[str, Any], wanted: Mode
) -> None:
    assert mode(live(aferir(), 5, **{**POOL, **given})) is wanted


def test_what_begins_goes_on_a_little_above_where_it_begins() -> None:
    first = live(aferir(), 5, **POOL)
    more: dict[str, Any] = {**POOL, "service_cpus": 1.5, "batch_cpus": 0.45, "rate": 3000.0}
    assert mode(live(aferir(), 5, first, **more)) is Mode.FIRST
    most = {**more, "service_cpus": 1.8, "batch_cpus": 0.15}
    assert mode(live(aferir(), 5, first, **most)) is Mode.YIELD


def test_a_refusal_by_the_kernel_bars_the_mode() -> None:
    made = live(aferir(), 3, **POOL)
    assert mode(made) is Mode.FIRST
    refused = Step(batch=made.batch, memory=made.memory, time_s=made.time_s)
    assert mode(live(aferir(), 5, refused, **POOL)) is Mode.YIELD


def test_reservations_beside_which_the_service_is_late_are_barred_for_longer_each_time() -> None:
    now, waits = live(aferir(), 5, **NGINX), []
    late = {**NGINX, "latency": latency(0.3)}
    for _ in range(4):
        now = next(one for one in lived(aferir(), 30, now, **late) if not one.threads)
        begins = lived(aferir(), 300, now, **NGINX)
        back = next(one for one in begins if one.explanation.mode == "reserved")
        waits.append(round(back.time_s - now.time_s))
        now = live(aferir(), 1.0, back, **NGINX)
    assert waits == [10, 20, 40, 80]


def test_few_batch_threads_have_cpus_of_their_own_and_show_at_times_that_they_want_more() -> None:
    made = lived(aferir(), 60, **ONE)
    apart = [one for one in made if one.explanation.mode == "apart"]
    assert {one.batch.cpus for one in apart} == {(3,)}
    assert {one.service_cpus for one in apart} == {(0, 1, 2)}
    assert 0.8 < len(apart) / len(made) < 0.95
    more = {**ONE, "batch_cpus": 2.4, "idle_cpus": 0.1}
    assert mode(live(aferir(), 5, made[-1], **more)) is not Mode.APART


@pytest.mark.parametrize(
    "harm", [{"latency": latency(0.14)}, {"occupied": 0.9}, {"service_cpus": 2.7}]
)
def test_cpus_of_its_own_end_for_a_while_where_they_do_harm(harm: dict[str, Any]) -> None:
    made = next(one for one in lived(aferir(), 5, **ONE) if one.explanation.mode == "apart")
    harmed = live(aferir(), 1.0, made, **{**ONE, **harm})
    assert mode(harmed) is not Mode.APART
    assert "apart" not in modes(lived(aferir(), 8, harmed, **ONE))
    assert "apart" in modes(lived(aferir(), 15, harmed, **ONE))


def test_workers_that_need_more_than_a_cpu_are_bound_to_one_each_beside_a_weight() -> None:
    few: dict[str, Any] = {**NGINX, "batch_cpus": 0.7, "idle_cpus": 0.4, "service_cpus": 0.9}
    made = live(aferir(), 5, **few)
    assert mode(made) is Mode.WEIGHTED
    assert [one.cpus for one in made.threads.values()] == [(0,), (1,)]
    less = live(aferir(), 3, made, **{**few, "service_cpus": 0.75})
    assert [one.cpus for one in less.threads.values()] == [(0,), (1,)]
    assert live(aferir(), 3, made, **{**few, "service_cpus": 0.6}).threads == {}


def test_company_is_outranked_only_once_the_service_is_late_beside_it() -> None:
    some = {**crowd(batch_cpus=1.1), "threads": NGINX["threads"]}
    made = live(aferir(), 10, **some)
    assert (mode(made), made.threads, made.service) == (Mode.COMPANY, {}, Schedule())
    assert made.batch.idle
    late = live(aferir(), 3, made, **{**some, "latency": latency(0.3)})
    assert mode(late) is Mode.CONTENDED
    assert {one.policy for one in late.threads.values()} == {"deadline"}
    assert late.batch.idle
    assert mode(live(aferir(), 12, late, **some)) is Mode.COMPANY


def test_processes_with_a_reservation_of_their_own_are_not_company() -> None:
    seen = {**NGINX, "batch_cpus": 0.1, "idle_cpus": 0.0, "others_reserved_cpus": 1.0}
    assert mode(live(aferir(), 10, **seen)) is Mode.RESERVED


def test_competitors_keep_the_reservations_for_a_while_after_they_left() -> None:
    made = live(aferir(), 10, **crowd(batch_cpus=0.5))
    assert set(made.threads) == set(range(1, 9))
    alone = {**POOL, "service_cpus": 0.5, "batch_cpus": 1.45}
    assert mode(live(aferir(), 8, made, **alone)) is Mode.CONTENDED
    assert mode(live(aferir(), 30, made, **alone)) is Mode.FIRST


MANY = tuple(ThreadUse(tid=tid, name="t", cpus=0.005) for tid in range(100))


def test_without_useful_reservations_the_service_is_first_only_while_it_is_late() -> None:
    near = crowd(batch_cpus=0.3, threads=MANY, latency=latency(0.1))
    made = live(aferir(), 10, **near)
    assert (mode(made), made.threads) == (Mode.CONTENDED, {})
    assert (made.service, made.batch.idle) == (Schedule(nice=-20), True)
    late = live(aferir(), 2, made, **{**near, "latency": latency(0.3)})
    assert late.service == Schedule(policy="fifo", priority=1)


def test_beside_competitors_the_batch_has_a_share_while_the_sla_is_far() -> None:
    far = crowd(batch_cpus=0.3, threads=MANY)
    made = live(aferir(), 5, **far)
    assert mode(made) is Mode.SHARED
    assert made.batch == Batch()
    for harm in ({"latency": latency(0.15)}, {"occupied": 1.0}):
        assert live(aferir(), 1, made, **{**far, **harm}).batch.idle


def test_the_user_says_what_share_and_beside_whom() -> None:
    def shared(share: float, **given: Any) -> Batch:
        return live(aferir(parameters({"batch_share": share})), 5, **crowd(**given)).batch

    assert shared(4.0, batch_cpus=0.3, threads=MANY).weight == 400
    assert shared(0.25, batch_cpus=1.1) == Batch(weight=25)  # beside company too
    assert shared(0.0, batch_cpus=0.3, threads=MANY).idle
    few = {**POOL, "batch_cpus": 0.8, "idle_cpus": 0.3}
    assert not live(aferir(), 5, **few).batch.idle
    assert live(aferir(parameters({"batch_share": 0.0})), 5, **few).batch.idle


def test_a_batch_that_is_limited_has_no_advantage() -> None:
    cut = live(aferir(), 0.1, **{**ONE, "latency": latency(0.5)})
    assert cut.batch.suspended
    assert not {"apart", "weighted"} & set(modes(lived(aferir(), 3, cut, **ONE)))
