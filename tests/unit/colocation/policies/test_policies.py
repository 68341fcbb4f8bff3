"""Decisions of each policy in given states, and decisions that no policy may make."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.colocation.policies import POLICIES
from aferir.colocation.policies.edfcoaloc import (
    LEAST_CPUS,
    edf_alone,
    edfcoaloc,
    edfcoaloc_limit,
    rule,
)
from aferir.colocation.policies.koordinator import koordinator
from aferir.colocation.policies.pid import pid
from aferir.colocation.policies.reservation import Reservation, plan, shares
from aferir.colocation.settings import (
    Latency,
    Schedule,
    Settings,
    Sla,
    State,
    ThreadUse,
)
from tests.unit.colocation.states import latency, live, state, step

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


def test_edf_alone_is_the_same_rule_without_a_batch() -> None:
    found = state(latency=latency(0.04))
    alone = step(edf_alone(), found)
    assert alone.threads == step(edfcoaloc(), found).threads
    assert alone.batch.suspended


def test_the_cpu_monitor_limits_the_batch_to_what_the_others_left_every_five_seconds() -> None:
    policy = edfcoaloc_limit()
    first = step(policy, state(idle_cpus=0.1, batch_cpus=0.9))
    assert first.batch.quota_cpus == pytest.approx(1.0)
    assert first.threads == step(edfcoaloc(), state()).threads
    soon = step(policy, state(time_s=104.0, idle_cpus=0.0, batch_cpus=0.2, now=first))
    assert soon.batch == first.batch
    later = step(policy, state(time_s=105.0, idle_cpus=0.0, batch_cpus=0.0, now=soon))
    assert later.batch.quota_cpus == LEAST_CPUS
    most = step(policy, state(time_s=110.0, idle_cpus=9.0, now=later))
    assert most.batch.quota_cpus == 2


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
