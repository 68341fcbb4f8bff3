"""Comparison of arms that ran at different speeds of the machine, scaled to one speed."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.colocation.settings import Sla
from aferir.colocation.trials.arm import Arm
from aferir.colocation.trials.load import Asked, Load
from benchmarks.colocation import same_speed
from benchmarks.colocation.judge import Pair
from benchmarks.colocation.service import quantiles

_SLA = Sla(0.95, 0.1)
_CPUS = 2
_PER_CPU = 0.02
"""Pieces of batch work for each task that the machine does in a second."""
speeds = st.floats(800.0, 2500.0)
works = st.floats(0.0, 1400.0)
"""Load of the service in tasks a second; 1600 would fill the slowest machine."""


def measured(
    policy: str, speed: float, service: float, *, most: float = _CPUS, latency_s: float = 0.01
) -> Arm:
    """Run of an arm at that speed: the service uses what it needs, the batch the rest."""
    batch = min(_CPUS - service / speed, most)
    return Arm(
        policy=policy,
        load=Load(
            asked=tuple(Asked(0.01 * k, latency_s, 200, 0) for k in range(400)),
            healthy=True,
            failed=0,
        ),
        batch_per_s=batch * _PER_CPU * speed,
        batch_cpus=batch,
        idle_cpus=max(_CPUS - service / speed - batch, 0.0),
        cpus=_CPUS,
        system_s=(),
        own_cpus=0.0,
        own_memory_bytes=0.0,
        leaked_cpus=0.0,
        speed=speed,
    )


@given(speeds, speeds, works)
def test_two_arms_that_are_alike_do_alike_at_the_same_speed(
    one: float, other: float, service: float
) -> None:
    ours, theirs = measured("aferir", one, service), measured("cpu-idle", other, service)
    pair = Pair(_SLA, ours, theirs)
    assert pair.ratio == pytest.approx(1.0)


@given(speeds, speeds, works, works)
def test_an_arm_that_costs_the_service_more_does_less_at_whatever_speed_it_was_met(
    one: float, other: float, service: float, more: float
) -> None:
    ours, theirs = measured("aferir", one, service), measured("cpu-idle", other, more)
    at = (one + other) / 2
    as_if = [_PER_CPU * max(_CPUS * at - work, 0.0) for work in (service, more)]
    assert same_speed.batch_per_s(ours, at) == pytest.approx(as_if[0], abs=1e-6)
    assert same_speed.batch_per_s(theirs, at) == pytest.approx(as_if[1], abs=1e-6)


def test_additional_need_on_a_slower_machine_is_first_taken_from_idle_time() -> None:
    few = measured("aferir", 2000.0, 500.0, most=1.0)
    assert few.idle_cpus == 0.75
    assert same_speed.batch_cpus(few, 1000.0) == 1.0
    assert same_speed.batch_per_s(few, 1000.0) == pytest.approx(_PER_CPU * 1000.0)
    assert same_speed.batch_cpus(few, 400.0) == pytest.approx(0.75)
    assert same_speed.batch_cpus(few, 2500.0) == 1.0


@given(speeds, speeds, works)
def test_what_a_service_alone_leaves_is_scaled_to_the_speed_of_the_other_arms(
    one: float, other: float, service: float
) -> None:
    alone = measured("alone", one, service, most=0.0)
    left = _CPUS - service / other
    assert same_speed.idle_cpus(alone, other) == pytest.approx(left, abs=1e-6)


def test_batch_work_beyond_what_the_service_leaves_is_not_expected_at_any_speed() -> None:
    ours = measured("aferir", 1500.0, 1200.0)
    idle = measured("idle", 1100.0, 200.0, latency_s=0.3)
    alone = measured("alone", 1900.0, 1200.0, most=0.0)
    pair = Pair(_SLA, ours, idle, alone)
    assert pair.speed == 1500.0
    assert pair.ratio / pair.due == pytest.approx(1.0)


def test_arms_of_unknown_speed_are_compared_as_they_are() -> None:
    unknown = measured("aferir", 0.0001, 0.0)
    assert same_speed.batch_per_s(unknown, 0.0) == unknown.batch_per_s
    assert same_speed.mean_speed([]) == 0.0


@given(
    st.floats(-4.0, 0.0),
    st.lists(speeds, min_size=2, max_size=8, unique=True),
    st.floats(0.001, 1.0),
    st.floats(0.5, 2.0),
)
def test_the_power_of_latency_by_speed_is_found_whatever_the_arms_differ_by(
    power: float, at: list[float], latency_s: float, ratio: float
) -> None:
    groups = [
        [(speed, latency_s * times * (speed / 1000.0) ** power) for speed in at]
        for times in (1.0, ratio)
    ]
    apart = max(abs(b / a - 1) for a, b in pairwise(sorted(at)))
    found = same_speed.slope(groups)
    assert found == pytest.approx(power, abs=1e-6) or apart < 0.01


def test_a_speed_that_is_unknown_or_does_not_change_has_no_power() -> None:
    assert same_speed.slope([[(1000.0, 0.01), (1000.0, 0.02)]]) == 0.0
    assert same_speed.slope([[(0.0, 0.01), (0.0, 0.02)], []]) == 0.0


def test_latency_beside_fifo_is_told_at_the_same_speed_and_as_measured() -> None:
    def arm(speed: float, times: float) -> Arm:
        return measured("", speed, 500.0, latency_s=times * 0.01 * (1000.0 / speed) ** 2)

    found = [(arm(1000.0, 1.5), arm(2000.0, 1.0)), (arm(2000.0, 1.5), arm(1000.0, 1.0))]
    figure = quantiles([found], "load")
    assert figure.value == pytest.approx(1.5, rel=0.01)
    assert figure.holds is False
    assert "pairs 1.50 1.50; as measured 6.00 0.38; with the speed's power -2.0" in figure.note
    assert quantiles([], "load").holds is None


def test_pairs_at_another_rate_are_a_cell_of_their_own() -> None:
    def arm(speed: float, times: float) -> Arm:
        return measured("", speed, 500.0, latency_s=times * 0.01 * (1000.0 / speed) ** 2)

    fast = [(arm(1000.0, 1.5), arm(2000.0, 1.0)), (arm(2000.0, 1.5), arm(1000.0, 1.0))]
    slow = [(arm(500.0, 0.75), arm(800.0, 0.5)), (arm(800.0, 0.75), arm(500.0, 0.5))]
    told = quantiles([fast, slow], "load")
    assert "pairs 1.50 1.50 1.50 1.50" in told.note
    assert "power -2.0" in told.note


@pytest.mark.parametrize(
    ("now", "then", "times"),
    [
        *((1000, 1000, 1), (950, 1000, 1), (1080, 1000, 1), (780, 1000, 0.8), (500, 1000, 0.512)),
        *((1300, 1000, 1.25), (0, 1000, 1), (1000, 0, 1)),
    ],
)
def test_a_slower_machine_is_asked_for_less_in_steps_of_a_fifth(
    now: float, then: float, times: float
) -> None:
    assert same_speed.stepwise(now, then) == pytest.approx(times)
