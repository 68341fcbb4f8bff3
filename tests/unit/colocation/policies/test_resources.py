"""The limit of the resource that the service waits for is cut first, and raised slowly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.colocation.policies import fixed, resources
from aferir.colocation.policies.resources import LEAST_BYTES, SETTLES_S, Memory
from aferir.colocation.settings import Latency, Policy, Settings, State, Waits
from tests.unit.colocation.states import latency, state

SHARES = st.floats(0, 1)
LATE, CALM = latency(0.19), latency(0.02)


def seen(time_s: float = 100.0, **given: object) -> State:
    usual = {
        "time_s": time_s,
        "latency": LATE,
        "levers": frozenset({"memory", "disk"}),
        "batch_memory_bytes": 2**30,
        "batch_disk_bps": 100e6,
        "service_memory_bytes": 2**28,
    }
    return state(**{**usual, **given})


def counting() -> tuple[list[float], Policy[int]]:
    """A policy of processors that says when it was asked."""
    asked: list[float] = []

    def decide(found: State, memory: int) -> tuple[Settings, int]:
        asked.append(found.time_s)
        return Settings(), memory + 1

    return asked, Policy(0, decide)


@pytest.mark.parametrize(
    ("waits", "resource"),
    [
        (None, None),
        (Waits(cpu=0.01, memory=0.04, disk=0.0), None),
        (Waits(cpu=0.3, memory=0.2, disk=0.1), "cpu"),
        (Waits(cpu=0.1, memory=0.2, disk=0.1), "memory"),
        (Waits(cpu=0.1, memory=0.2, disk=0.9), "disk"),
    ],
)
def test_the_service_waits_for_what_its_own_group_waits_for_most(
    waits: Waits | None, resource: str | None
) -> None:
    assert resources.waited_for(seen(waits=waits)) == resource


def test_the_lever_moves_before_the_processors_and_has_time_to_work() -> None:
    asked, inner = counting()
    policy = resources.widened(inner)
    memory = policy.begin
    for tenth in range(25):
        found = seen(100 + tenth / 10, waits=Waits(memory=0.5))
        settings, memory = policy.decide(found, memory)
    assert asked == []
    assert settings.batch.memory_high_bytes == 2**30 // 8  # cut at 100, 101 and 102 s
    assert settings.service_memory_low_bytes == 2**28
    assert settings.batch.disk_bps is None
    assert "memory" in settings.explanation.why
    assert settings.explanation.since_s == 102.0


def test_at_the_least_limit_the_processors_are_next() -> None:
    asked, inner = counting()
    policy = resources.widened(inner)
    memory = policy.begin
    for second in range(20):
        found = seen(100 + 2 * second, waits=Waits(disk=0.5))
        settings, memory = policy.decide(found, memory)
    assert settings.batch.disk_bps == LEAST_BYTES
    assert asked
    assert asked[-1] == found.time_s


def test_where_there_is_no_lever_the_processors_are_all() -> None:
    asked, inner = counting()
    policy = resources.widened(inner)
    found = seen(waits=Waits(memory=0.9), levers=frozenset())
    settings, _ = policy.decide(found, policy.begin)
    assert settings.batch.memory_high_bytes is None
    assert asked == [found.time_s]


def test_a_batch_that_hardly_uses_a_resource_is_not_limited() -> None:
    asked, inner = counting()
    policy = resources.widened(inner)
    found = seen(waits=Waits(memory=0.9), batch_memory_bytes=0)
    settings, _ = policy.decide(found, policy.begin)
    assert settings.batch.memory_high_bytes is None
    assert asked == [found.time_s]


def test_a_limit_stays_while_nothing_is_answered_and_the_service_waits() -> None:
    policy = resources.widened(fixed.cpu_idle())
    first, memory = policy.decide(seen(waits=Waits(disk=0.5)), policy.begin)
    for second in range(1, 10):
        found = seen(100 + second, waits=Waits(cpu=0.5), latency=None)
        settings, memory = policy.decide(found, memory)
        assert settings.batch.disk_bps == first.batch.disk_bps


@pytest.mark.parametrize("latency", [CALM, None])
def test_a_limit_comes_back_by_steps_and_ends(latency: Latency | None) -> None:
    policy = resources.widened(fixed.cpu_idle())
    settings, memory = policy.decide(seen(waits=Waits(disk=0.5)), policy.begin)
    limits = [settings.batch.disk_bps]
    for second in range(1, 40):
        found = seen(100 + second, waits=Waits(), latency=latency)
        settings, memory = policy.decide(found, memory)
        limits.append(settings.batch.disk_bps)
    kept = [limit for limit in limits if limit is not None]
    assert kept == sorted(kept)
    assert limits[-1] is None
    assert settings.service_memory_low_bytes is None


@given(st.lists(st.tuples(SHARES, SHARES, SHARES, st.floats(0.001, 1.0)), max_size=40))
def test_no_two_moves_within_the_settling_time_and_no_raise_near_the_sla(
    history: list[tuple[float, float, float, float]],
) -> None:
    policy = resources.widened(fixed.cpu_idle())
    memory: Memory = policy.begin
    for turn, (cpu, ram, disk, quantile_s) in enumerate(history):
        before = memory
        found = seen(
            100 + turn / 4, waits=Waits(cpu=cpu, memory=ram, disk=disk), latency=latency(quantile_s)
        )
        settings, memory = policy.decide(found, before)
        for old, new in ((before.memory, memory.memory), (before.disk, memory.disk)):
            if old == new:
                continue
            assert found.time_s >= old.moved_s + SETTLES_S
            raised = new.most is None or (old.most is not None and new.most > old.most)
            assert not (raised and quantile_s > resources.FAR * found.sla.bound_s)
            assert new.most is None or new.most >= LEAST_BYTES
        assert settings.batch.memory_high_bytes == memory.memory.most
        assert (settings.service_memory_low_bytes is None) == (memory.memory.most is None)


def test_disks_are_weighed_before_they_are_limited_and_the_weight_comes_back_last() -> None:
    policy = resources.widened(fixed.default())
    levers = frozenset({"disk_weight", "disk"})
    memory, steps = policy.begin, list[tuple[int | None, bool]]()
    for tenth in range(400):
        waits = Waits(disk=0.5) if tenth < 25 else Waits()
        found = seen(
            100 + tenth / 10, waits=waits, levers=levers, latency=LATE if tenth < 25 else CALM
        )
        settings, memory = policy.decide(found, memory)
        batch = settings.batch
        step = (batch.disk_weight, batch.disk_bps is not None)
        if not steps or steps[-1] != step:
            steps.append(step)
    assert steps == [(1, False), (1, True), (1, False), (None, False)]


def test_a_batch_that_leaves_the_disk_alone_is_not_weighed() -> None:
    policy = resources.widened(fixed.default())
    found = seen(
        waits=Waits(disk=0.5), levers=frozenset({"disk_weight", "disk"}), batch_disk_bps=0.0
    )
    assert policy.decide(found, policy.begin)[0].batch.disk_weight is None


def test_requests_of_others_have_a_target_as_long_as_the_batch_has_the_lowest_weight() -> None:
    policy = resources.widened(fixed.default())
    levers, waits = frozenset({"disk_target", "disk"}), Waits(disk=0.5)
    first, memory = policy.decide(seen(waits=waits, levers=levers), policy.begin)
    assert first.disk_target_s == pytest.approx(0.1 * 0.2)
    assert (first.batch.disk_weight, first.batch.disk_bps) == (None, None)
    second, memory = policy.decide(seen(101.0, waits=waits, levers=levers), memory)
    assert second.disk_target_s == first.disk_target_s
    assert second.batch.disk_bps is not None
    both = seen(waits=waits, levers=levers | {"disk_weight"})
    assert policy.decide(both, policy.begin)[0].batch.disk_weight == 1
    neither = seen(waits=waits, levers=frozenset({"disk"}))
    assert policy.decide(neither, policy.begin)[0].disk_target_s is None


def test_the_part_of_the_caches_is_cut_beside_the_processors_unless_memory_or_a_disk_lacks() -> (
    None
):
    asked, inner = counting()
    policy = resources.widened(inner)
    memory, parts = policy.begin, list[int | None]()
    levers = frozenset({"memory", "cache"})
    for second in range(20):
        late = second < 3
        found = seen(100 + second, levers=levers, waits=None, latency=LATE if late else CALM)
        settings, memory = policy.decide(found, memory)
        parts.append(settings.batch.cache_percent)
    assert parts[:5] == [50, 25, 12, 22, 32]
    assert parts[-1] is None
    assert len(asked) == 20
    lacks = seen(waits=Waits(memory=0.5), levers=levers)
    assert policy.decide(lacks, policy.begin)[0].batch.cache_percent is None
