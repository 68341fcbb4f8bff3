"""Others who work beside the service: when the policy `aferir` gives way to them."""

from __future__ import annotations

from typing import Any

import pytest

from aferir.colocation.policies.aferir import aferir
from aferir.colocation.settings import Batch, Schedule, Settings, ThreadUse
from tests.unit.colocation.states import latency, live, state, step


def test_some_work_of_others_is_given_way_to_unless_the_sla_is_in_danger() -> None:
    threads = tuple(ThreadUse(tid=tid, name="nginx", cpus=0.5) for tid in (1, 2))
    some: dict[str, Any] = {"threads": threads, "service_cpus": 1.0, "idle_cpus": 0.0}
    alone = live(aferir(), 10, **some, batch_cpus=0.9)
    assert {one.policy for one in alone.threads.values()} == {"deadline"}
    assert alone.batch == Batch()
    # They may be whom the service works for, and its log would not tell that they are held up.
    with_them = live(aferir(), 10, **some, batch_cpus=0.7)
    assert with_them.threads == {}
    assert with_them.service == Schedule(nice=0)
    assert with_them.batch.idle
    late = live(aferir(), 3, **some, batch_cpus=0.7, latency=latency(0.3))
    assert {one.policy for one in late.threads.values()} == {"deadline"}
    assert late.batch.idle


@pytest.mark.parametrize("batch_cpus", [0.7, 0.1])
def test_whoever_has_a_reservation_of_its_own_is_neither_given_way_to_nor_competed_with(
    batch_cpus: float,
) -> None:
    threads = tuple(ThreadUse(tid=tid, name="nginx", cpus=0.5) for tid in (1, 2))
    seen: dict[str, Any] = {"threads": threads, "service_cpus": 1.0, "idle_cpus": 0.0}
    seen |= {"batch_cpus": batch_cpus, "others_reserved_cpus": 0.95 - batch_cpus}
    made = live(aferir(), 10, **seen)
    assert {one.policy for one in made.threads.values()} == {"deadline"}
    assert made.batch == Batch()
    assert not made.memory.values["company_until_s"] > 0
    assert not made.memory.values["reserved_until_s"] > 0


def test_the_service_goes_before_some_work_of_others_for_longer_each_time() -> None:
    now, spans, reserved = Settings(), [0], False
    for turn in range(1200):
        had = any(one.policy == "deadline" for one in now.threads.values())
        if had != reserved:
            spans.append(0)
        reserved = had
        spans[-1] += 1
        quantile = latency(0.05 if had else 0.19)
        now = step(
            aferir(),
            state(
                time_s=100 + turn / 10,
                now=now,
                latency=quantile,
                service_cpus=1.0,
                batch_cpus=0.7,
                idle_cpus=0.0,
            ),
        )
    with_reservations = spans[1::2]
    assert with_reservations[:3] == pytest.approx([100, 200, 400], abs=5)
