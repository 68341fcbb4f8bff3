"""When a batch of few threads is given a rank beside processors that idle."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.colocation_states import latency, live, state

from aferir.colocation.policies.aferir import aferir
from aferir.colocation.settings import Batch, ThreadUse

_FEW: dict[str, Any] = {"batch_cpus": 0.8, "idle_cpus": 0.6, "latency": latency(0.02)}
"""A batch of fewer threads than processors, beside a service that is far from its SLA."""
_SLACK = Batch(weight=1)


def test_a_batch_beside_idle_processors_gets_a_rank_while_the_sla_is_far() -> None:
    assert live(aferir(), 5, **_FEW).batch == _SLACK
    near = {**_FEW, "latency": latency(0.08)}
    assert live(aferir(), 5, **near).batch == Batch(policy="idle", idle=True)
    busy = {**_FEW, "batch_cpus": 1.4, "idle_cpus": 0.0}
    assert live(aferir(), 5, **busy).batch == Batch(policy="idle", idle=True)
    waiting = {**_FEW, "batch_cpus": 0.05, "idle_cpus": 1.4}
    assert live(aferir(), 5, **waiting).batch == Batch(policy="idle", idle=True)


def test_a_rank_that_brings_the_sla_near_is_taken_away_for_longer_each_time() -> None:
    decide, now, given = aferir(), live(aferir(), 5, **_FEW), []
    for turn in range(3000):
        quantile = latency(0.12 if now.batch == _SLACK else 0.02)
        now = decide(
            state(**{**_FEW, "time_s": 105 + turn / 10, "latency": quantile, "now": now}),
        )
        if now.batch == _SLACK:
            given.append(105 + turn / 10)
    assert len(given) == 3
    assert given[0] - 105 == pytest.approx(30, abs=1)
    assert given[1] - given[0] == pytest.approx(60, abs=1)
    assert given[2] - given[1] == pytest.approx(120, abs=1)


def test_threads_that_reservations_spread_keep_them_unless_they_do_little() -> None:
    threads = tuple(ThreadUse(tid=tid, name="nginx", cpus=0.3) for tid in (1, 2))
    made = live(aferir(), 5, **_FEW, threads=threads, service_cpus=0.8)
    assert set(made.threads) == {1, 2}
    assert made.batch.idle
    light = live(aferir(), 5, **_FEW, threads=threads, service_cpus=0.4)
    assert light.threads == {}
    assert light.batch == _SLACK
    # Others' work changes nothing in that.
    crowded = {**_FEW, "batch_cpus": 0.6, "idle_cpus": 0.5}
    assert live(aferir(), 5, **crowded, threads=threads, service_cpus=0.2).batch == _SLACK
