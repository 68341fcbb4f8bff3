"""The rule of Heracles, decision by decision."""

from __future__ import annotations

from aferir.colocation.policies.heracles import Memory, heracles
from aferir.colocation.settings import Settings
from tests.unit.colocation.states import Step, latency, state, step


def after(seconds: float, now: Settings, quantile_s: float, *, used: float = 1.0) -> Settings:
    """Settings decided some time after the first decision, for a service that uses so many CPUs."""
    seen = latency(quantile_s)
    return step(
        heracles(), state(time_s=100.0 + seconds, cores=8, latency=seen, service_cpus=used, now=now)
    )


def test_the_batch_grows_by_a_core_every_fifteen_seconds() -> None:
    first = after(0, Settings(), 0.05)
    assert first.batch.cpus == (6, 7)
    assert first.service_cpus == (0, 1, 2, 3, 4, 5)
    assert after(14, first, 0.05).batch == first.batch
    assert after(15, first, 0.05).batch.cpus == (5, 6, 7)


def test_with_little_slack_it_does_not_grow_and_with_less_it_shrinks_by_two() -> None:
    now = Step(memory=Memory(decided_s=100.0, cores=5))
    assert len(after(15, now, 0.2 * 0.93).batch.cpus) == 5
    assert len(after(15, now, 0.2 * 0.97).batch.cpus) == 3


def test_without_slack_it_stops_for_five_minutes() -> None:
    broken = after(0, Settings(), 0.3)
    assert broken.batch.suspended
    assert broken.service_cpus == tuple(range(8))
    assert after(299, broken, 0.01).batch.suspended
    assert not after(315, broken, 0.01).batch.suspended


def test_a_high_load_stops_it_until_the_load_is_low_again() -> None:
    high = after(0, Settings(), 0.01, used=7.0)
    assert high.batch.suspended
    assert after(15, high, 0.01, used=6.6).batch.suspended
    assert not after(15, high, 0.01, used=6.0).batch.suspended
