"""The batch's share: cuts wait for their effect, growth, and whether cutting helps."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from aferir.colocation.policies.aferir import aferir
from aferir.colocation.policies.aferir.share import settling_s
from aferir.colocation.policies.aferir.signals import Signals
from aferir.colocation.policies.parameters import Parameters
from aferir.colocation.settings import Batch, Settings
from tests.unit.colocation.states import Step, latency, live, lived, state, step

LATE = latency(0.35)
"""A 95th percentile of 350 ms, of an SLA of 200 ms: late, and not hopeless."""


def limit(made: Settings) -> float:
    """CPUs that the batch may use."""
    if made.batch.suspended:
        return 0.0
    return 2.0 if made.batch.quota_cpus is None else made.batch.quota_cpus


def cuts(made: list[Step]) -> list[float]:
    """Times at which the batch's limit became smaller."""
    return [round(b.time_s - made[0].time_s, 1) for a, b in pairwise(made) if limit(b) < limit(a)]


def test_a_batch_that_is_cut_is_not_cut_again_before_the_cut_shows_in_the_latencies() -> None:
    """Until this policy was rewritten it was suspended after 0.2 s, whatever the parameters."""
    made = lived(aferir(), 3.0, latency=LATE, rate=1000.0)
    assert cuts(made)[:3] == pytest.approx([0.4, 0.8, 1.2])
    assert not made[8].batch.suspended
    assert made[-1].batch.suspended


def test_cuts_wait_for_the_whole_window_and_at_most_for_the_patience() -> None:
    signals = Signals(time_s=100.0, began_s=0.0, past_s=0.1)
    found = [
        settling_s(state(latency=latency(0.3, n=n), rate=100.0), signals, Parameters())
        for n in (10, 70, 400)
    ]
    assert found == pytest.approx([0.35, 0.7, 1.0])


def test_a_cut_halves_what_the_batch_uses() -> None:
    first = live(aferir(), 0.3, latency=LATE, rate=1000.0)
    assert first.batch.quota_cpus == pytest.approx(0.64)  # 0.35 of the machine, in steps of 0.04


def test_a_batch_that_is_far_too_much_is_suspended_by_the_first_cut() -> None:
    assert live(aferir(), 0.5, latency=latency(1.0), rate=1000.0).batch.suspended


def test_a_batch_that_was_cut_grows_again_after_the_patience_and_slowly() -> None:
    cut = live(aferir(), 0.1, latency=latency(1.0), rate=1000.0)
    calm: dict[str, Any] = {"latency": latency(0.02), "rate": 1000.0}
    assert live(aferir(), 0.9, cut, **calm).batch.suspended
    grown = live(aferir(), 2.5, cut, **calm)
    assert 0 < (grown.batch.quota_cpus or 0) <= 1.2
    assert live(aferir(), 10, cut, **calm).batch.quota_cpus is None


def test_a_quantile_that_stays_near_the_sla_lowers_the_share_every_three_seconds() -> None:
    made = lived(aferir(), 60, latency=latency(0.19))
    found = cuts(made)
    assert len(found) >= 2
    assert all(later - sooner > 2.95 for sooner, later in pairwise(found))


def test_a_quantile_between_the_thresholds_changes_nothing() -> None:
    lowered = live(aferir(), 30, latency=latency(0.19))
    between = live(aferir(), 20, lowered, latency=latency(0.16))
    assert between.batch.quota_cpus is not None
    assert live(aferir(), 60, between, latency=latency(0.16)).batch == between.batch


def test_a_batch_whose_absence_does_not_help_is_left_whole() -> None:
    policy, whole = aferir(), 0
    now: Settings = Settings()
    for turn in range(1200):
        used = 0.0 if now.batch.suspended else now.batch.quota_cpus or 1.4
        late = latency(0.21, spread=0.04)
        now = step(policy, state(time_s=turn / 10, latency=late, batch_cpus=used, now=now))
        whole += limit(now) == 2.0
    assert whole > 900


def test_a_service_that_hangs_stops_the_batch_and_one_that_sleeps_does_not() -> None:
    silent: dict[str, Any] = {"latency": None, "silent_s": 50.0, "rate": 0.0}
    assert live(aferir(), 5, **silent, service_cpus=1.0, batch_cpus=0.9).batch.suspended
    asleep = live(aferir(), 5, **silent, service_cpus=0.0, batch_cpus=1.4, idle_cpus=0.6)
    assert asleep.batch == Batch(policy="idle", idle=True)
