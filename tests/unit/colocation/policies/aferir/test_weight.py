"""The batch's weight in the mode `weighted`."""

from __future__ import annotations

from typing import Any

from aferir.colocation.policies.aferir import aferir
from aferir.colocation.policies.aferir.weight import Weight
from aferir.colocation.settings import Batch
from tests.unit.colocation.states import latency, live, lived

FEW: dict[str, Any] = {
    "latency": latency(0.02),
    "service_cpus": 0.9,
    "batch_cpus": 0.8,
    "idle_cpus": 0.3,
    "occupied": 0.3,
    "rate": 500.0,
}
"""One batch thread, a CPU that idles, and an SLA that is far."""


def test_weights_are_the_halves_of_decades_up_to_everybodys() -> None:
    assert [Weight(step=step).value for step in range(5)] == [1, 3, 10, 31, 100]


def test_the_weight_rises_step_by_step_while_the_sla_is_far_and_a_thread_lacks_time() -> None:
    weights = [one.batch.weight for one in lived(aferir(), 10, **FEW) if not one.batch.idle]
    assert list(dict.fromkeys(weights)) == [1, 3, 10, 31, 100]
    assert live(aferir(), 10, **{**FEW, "batch_cpus": 0.95, "idle_cpus": 0.15}).batch.weight == 1


def test_the_weight_falls_by_a_decade_near_the_sla_and_comes_back_one_step_lower_for_a_while() -> (
    None
):
    risen = live(aferir(), 10, **FEW)
    fallen = live(aferir(), 0.3, risen, **{**FEW, "latency": latency(0.09)})
    assert fallen.batch.weight == 10
    assert live(aferir(), 8, fallen, **FEW).batch.weight == 31
    assert live(aferir(), 13, fallen, **FEW).batch.weight == 100


def test_a_full_pool_lowers_it_though_the_quantile_is_far() -> None:
    risen = live(aferir(), 10, **FEW)
    assert live(aferir(), 0.3, risen, **{**FEW, "occupied": 1.0}).batch.weight == 10


def test_a_violated_sla_takes_all_of_the_weight_before_anything_of_the_share() -> None:
    risen = live(aferir(), 10, **FEW)
    fallen = live(aferir(), 0.2, risen, **{**FEW, "latency": latency(0.35)})
    assert fallen.batch == Batch(weight=1)


def test_the_lowest_weight_that_is_still_too_much_ends_the_mode_for_longer_each_time() -> None:
    near: dict[str, Any] = {**FEW, "latency": latency(0.09)}
    now, waits = live(aferir(), 3, **FEW), []
    for _ in range(3):
        ended = live(aferir(), 3, now, **near)
        assert ended.explanation.mode != "weighted"
        back = lived(aferir(), 200, ended, **FEW)
        begins = next(one for one in back if one.explanation.mode == "weighted")
        waits.append(round(begins.time_s - ended.time_s))
        now = begins
    assert waits == sorted(waits)
    assert waits[0] < waits[-1] <= 100
