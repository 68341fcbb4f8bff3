"""What each policy decides in a given state, and what none may ever decide."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.colocation.policies import POLICIES
from aferir.colocation.policies.aferir import aferir
from aferir.colocation.policies.edfcoaloc import edfcoaloc, rule
from aferir.colocation.policies.judging import judge
from aferir.colocation.policies.koordinator import koordinator
from aferir.colocation.policies.parameters import Parameters
from aferir.colocation.policies.pid import pid
from aferir.colocation.policies.reservation import Reservation, plan, shares
from aferir.colocation.settings import (
    Batch,
    Latency,
    Schedule,
    Settings,
    Sla,
    State,
    ThreadUse,
)
from tests.unit.colocation.states import SLA, latency, live, state, step

# The published rule


@pytest.mark.parametrize(
    ("p_ms", "runtime_ms", "deadline_ms"),
    [(40, 24, 200), (100, 75, 200), (200, 200, 200), (400, 200, 400)],
)
def test_the_published_rule_is_followed_to_the_letter(
    p_ms: float, runtime_ms: float, deadline_ms: float
) -> None:
    runtime_s, deadline_s = rule(p_ms / 1e3, 0.2)
    assert runtime_s == pytest.approx(runtime_ms / 1e3)
    assert deadline_s == pytest.approx(deadline_ms / 1e3)


def test_edfcoaloc_looks_every_five_seconds_and_reserves_the_same_for_all_threads() -> None:
    decide = edfcoaloc()
    first = step(decide, state(latency=latency(0.04)))
    assert set(first.threads) == {1, 2, 3, 4}
    schedule = first.threads[1]
    assert schedule.runtime_s == pytest.approx(0.024)
    assert schedule.period_s == 0.2
    soon = step(decide, state(time_s=104.0, latency=latency(0.1), now=first))
    assert soon.threads == first.threads
    later = step(decide, state(time_s=105.0, latency=latency(0.1), now=soon))
    assert later.threads[1].runtime_s == pytest.approx(0.075)


# Admission


SHARES = st.lists(st.floats(min_value=0.01, max_value=100), min_size=1, max_size=40)


@given(SHARES, st.floats(min_value=0, max_value=16), st.floats(min_value=1e-4, max_value=10))
def test_a_plan_never_asks_for_more_than_there_is(
    wants: list[float], room: float, period_s: float
) -> None:
    wanted = [Reservation(tid, want) for tid, want in enumerate(wants)]
    made = plan(wanted, room, period_s=period_s)
    assert sum(one.runtime_s / one.period_s for one in made.values()) <= room
    for one in made.values():
        assert 1024e-9 <= one.runtime_s <= 0.95 * one.period_s
        assert one.period_s <= 4.19


def test_all_threads_get_their_part_instead_of_the_first_all_and_the_last_nothing() -> None:
    made = shares([Reservation(tid, 1.0) for tid in range(4)], 1.8)
    assert list(made.values()) == [pytest.approx(0.441)] * 4


def test_what_a_thread_cannot_use_is_for_the_others() -> None:
    made = shares([Reservation(1, 100.0), Reservation(2, 1.0)], 1.8)
    assert made[1] == 0.95
    assert made[2] == pytest.approx(1.8 * 0.98 - 0.95)


# The others' rules


def test_the_pid_reserves_more_while_the_quantile_is_above_its_target_and_winds_up_nothing() -> (
    None
):
    high = live(pid(), 60, latency=latency(0.4))
    low = live(pid(), 60, latency=latency(0.02))
    assert high.threads[1].runtime_s > 4 * low.threads[1].runtime_s
    # After a minute at the limit it turns within seconds, and not after another minute.
    turned = live(pid(), 5, first=msgspec.structs.replace(high), latency=latency(0.02))
    assert turned.threads[1].runtime_s < 0.5 * high.threads[1].runtime_s


def test_koordinator_leaves_what_is_below_its_threshold_and_shrinks_at_once() -> None:
    made = step(koordinator(), state(cores=4, service_cpus=0.5, batch_cpus=1.0, idle_cpus=2.5))
    assert made.batch.quota_cpus == pytest.approx(4 * 0.65 - 0.5)
    busy = step(
        koordinator(),
        state(time_s=101.0, cores=4, service_cpus=3.0, batch_cpus=1.0, idle_cpus=0.0, now=made),
    )
    assert busy.batch.quota_cpus == pytest.approx(0.02)
    back = step(
        koordinator(),
        state(time_s=102.0, cores=4, service_cpus=0.5, batch_cpus=0.0, idle_cpus=3.5, now=busy),
    )
    assert back.batch.quota_cpus == pytest.approx(0.02 + 0.4)


def test_the_static_split_of_one_processor_leaves_it_to_the_service() -> None:
    assert step(POLICIES["cpuset"](), state(cores=1)).batch.suspended
    assert step(POLICIES["cpuset"](), state(cores=3)).batch.cpus == (2,)


# Our own


def test_as_long_as_nobody_competes_the_batch_only_gives_way() -> None:
    made = live(aferir(), 30)
    assert made.threads == {}
    assert made.batch == Batch(policy="idle", idle=True)


def test_threads_that_have_a_processor_each_are_reserved_though_nobody_competes() -> None:
    threads = tuple(ThreadUse(tid=tid, name="nginx", cpus=0.3) for tid in (1, 2))
    made = live(aferir(), 30, threads=threads)
    assert {one.runtime_s / one.period_s > 0.8 for one in made.threads.values()} == {True}
    assert max(one.period_s for one in made.threads.values()) <= SLA.bound_s / 4
    # They come first without it, so it need not give way to everybody else as well.
    assert made.batch == Batch()
    near = live(aferir(), 30, first=made, threads=threads, latency=latency(0.19))
    assert near.batch.idle
    # Where the SLA is broken all the same, what can throttle a thread is left for a while.
    broken = live(aferir(), 4, first=made, threads=threads, latency=latency(0.3))
    assert broken.threads == {}
    assert live(aferir(), 20, first=broken, threads=threads).threads == {}
    assert live(aferir(), 60, first=broken, threads=threads).threads


@pytest.mark.parametrize(("bound_s", "period_s"), [(0.01, 0.0045), (0.1, 0.025), (1.0, 0.025)])
def test_whoever_else_works_waits_for_25_ms_at_most_however_far_the_sla_is(
    bound_s: float, period_s: float
) -> None:
    threads = tuple(ThreadUse(tid=tid, name="nginx", cpus=0.3) for tid in (1, 2))
    sla = Sla(quantile=0.95, bound_s=bound_s)
    made = live(aferir(), 30, threads=threads, sla=sla, latency=latency(0.1 * bound_s)).threads
    assert [one.period_s for one in made.values()] == pytest.approx([period_s] * 2, rel=0.02)


def test_where_others_compete_all_threads_are_reserved_within_what_is_admitted() -> None:
    crowded: dict[str, Any] = {"service_cpus": 0.5, "batch_cpus": 0.5, "idle_cpus": 0.0}
    made = live(aferir(), 10, **crowded)
    assert set(made.threads) == {1, 2, 3, 4}
    assert sum(one.runtime_s / one.period_s for one in made.threads.values()) <= 1.8
    for one in made.threads.values():
        assert one.period_s <= SLA.bound_s / 4
    # They stay for a while when the others go, and go then.
    after = live(aferir(), 8, first=made)
    assert after.threads
    assert live(aferir(), 30, first=made).threads == {}


def test_a_thread_that_does_nothing_takes_no_room_from_those_that_serve() -> None:
    threads = tuple(
        ThreadUse(tid=tid, name="nginx", cpus=cpus) for tid, cpus in ((1, 0.0), (2, 0.3), (3, 0.2))
    )
    crowded: dict[str, Any] = {"service_cpus": 0.5, "batch_cpus": 0.5, "idle_cpus": 0.0}
    made = live(aferir(), 10, threads=threads, **crowded).threads
    shares = {tid: one.runtime_s / one.period_s for tid, one in made.items()}
    assert 0 < shares[1] < 0.05
    assert shares[2] == shares[3] > 0.8
    assert made[2].period_s - made[2].runtime_s <= 0.1 * SLA.bound_s


def test_nothing_is_reserved_without_the_privilege_or_for_too_many_threads() -> None:
    crowded: dict[str, Any] = {"service_cpus": 0.5, "batch_cpus": 0.5, "idle_cpus": 0.0}
    unprivileged = live(aferir(), 10, **crowded, reservable_cpus=0.0)
    assert unprivileged.threads == {}
    assert unprivileged.service == Schedule(nice=-20)
    broken = live(aferir(), 10, **crowded, reservable_cpus=0.0, latency=latency(0.5))
    assert broken.service == Schedule(policy="fifo", priority=1)  # all that is left to do
    many = tuple(ThreadUse(tid=tid, name="t", cpus=0.01) for tid in range(100))
    assert live(aferir(), 10, **crowded, threads=many).threads == {}


def test_a_broken_sla_shrinks_the_batch_by_half_of_its_use_within_a_second() -> None:
    made = live(aferir(), 1.5, latency=latency(0.3))
    quota = made.batch.quota_cpus
    assert made.batch.suspended or (quota is not None and quota <= 0.7)


def test_a_batch_that_is_far_too_much_is_suspended_at_once() -> None:
    assert live(aferir(), 0.1, latency=latency(1.0)).batch.suspended


def test_a_shrunk_batch_grows_again_slowly() -> None:
    shrunk = live(aferir(), 1.0, latency=latency(1.0))
    assert shrunk.batch.suspended
    soon = live(aferir(), 2.5, first=shrunk, latency=latency(0.02))
    assert soon.batch.quota_cpus is not None
    assert soon.batch.quota_cpus <= 1.2
    assert live(aferir(), 60, first=shrunk, latency=latency(0.02)).batch.quota_cpus is None


def test_a_quantile_that_stays_near_the_sla_lowers_the_batch_step_by_step() -> None:
    made = live(aferir(), 5, latency=latency(0.19))
    assert made.batch.quota_cpus == pytest.approx(0.8)


def test_a_quantile_between_the_thresholds_changes_nothing() -> None:
    lowered = live(aferir(), 5, latency=latency(0.19))
    made = live(aferir(), 20, first=lowered, latency=latency(0.17))
    assert live(aferir(), 30, first=made, latency=latency(0.17)).batch == made.batch
    assert made.batch.quota_cpus is not None


def test_a_batch_whose_absence_does_not_help_is_left_whole() -> None:
    """The service breaks its SLA whatever is done."""
    decide, now, whole = aferir(), Settings(), 0
    for turn in range(1200):
        now = step(
            decide,
            state(
                time_s=turn / 10,
                latency=latency(0.21, spread=0.04),
                batch_cpus=0.0 if now.batch.suspended else now.batch.quota_cpus or 1.4,
                now=now,
            ),
        )
        whole += now.batch.quota_cpus is None and not now.batch.suspended
    assert whole > 600


def test_a_service_that_works_and_answers_nothing_makes_the_batch_yield() -> None:
    hung: dict[str, Any] = {
        "latency": None,
        "silent_s": 5.0,
        "rate": 0.0,
        "service_cpus": 1.0,
        "batch_cpus": 0.9,
    }
    assert judge(state(**hung)) == "danger"
    assert live(aferir(), 5, **hung).batch.suspended


def test_a_service_that_has_nothing_to_do_leaves_the_machine_to_the_batch() -> None:
    asleep: dict[str, Any] = {
        "latency": None,
        "silent_s": 50.0,
        "rate": 0.0,
        "service_cpus": 0.0,
        "idle_cpus": 0.6,
    }
    assert live(aferir(), 5, **asleep).batch == Batch(policy="idle", idle=True)


def test_an_interval_that_reaches_below_the_bound_is_no_certain_breach() -> None:
    assert judge(state(latency=latency(0.21, spread=0.3))) == "hold"
    assert judge(state(latency=latency(0.21, spread=0.01))) == "danger"


# All of them

FINITE = st.floats(min_value=0, max_value=1e4)
QUANTILES = st.one_of(
    st.none(),
    st.tuples(FINITE, st.integers(1, 10**6), st.booleans()).map(
        lambda one: Latency(
            quantile_s=one[0],
            low_s=one[0] / 2,
            high_s=math.inf if one[2] else one[0] * 2,
            n=one[1],
        )
    ),
)


@given(
    st.lists(st.tuples(QUANTILES, FINITE, FINITE, FINITE, FINITE), min_size=1, max_size=12),
    st.integers(1, 64),
    st.integers(0, 40),
    st.floats(min_value=1e-4, max_value=100),
)
def test_no_policy_ever_decides_what_cannot_be_set(
    looks: list[tuple[Latency | None, float, float, float, float]],
    cores: int,
    count: int,
    bound_s: float,
) -> None:
    threads = tuple(ThreadUse(tid=tid, name="t", cpus=looks[0][1]) for tid in range(count))
    for make in POLICIES.values():
        decide, now = make(), Settings()
        for turn, (seen, silent_s, rate, service, batch) in enumerate(looks):
            now = step(
                decide,
                State(
                    time_s=turn * silent_s,
                    sla=Sla(0.95, bound_s),
                    latency=seen,
                    rate=rate,
                    silent_s=silent_s,
                    threads=threads,
                    service_cpus=service,
                    batch_cpus=batch,
                    cores=cores,
                    reservable_cpus=0.9 * cores,
                    now=now,
                ),
            )
            check(now, cores)


def check(settings: Settings, cores: int) -> None:
    for schedule in (*settings.threads.values(), settings.service or Schedule()):
        assert -20 <= schedule.nice <= 19
        if schedule.policy == "deadline":
            assert 1024e-9 <= schedule.runtime_s <= schedule.period_s <= 4.194304
    assert set(settings.service_cpus) <= set(range(cores))
    batch = settings.batch
    assert set(batch.cpus) <= set(range(cores))
    assert batch.quota_cpus is None or 0.01 <= batch.quota_cpus <= cores


def test_parameters_are_values() -> None:
    assert step(aferir(Parameters(nice=0)), state()).service == Schedule(nice=0)
