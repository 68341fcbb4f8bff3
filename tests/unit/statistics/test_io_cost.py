"""Cycles and joules of an operation, and the range of valid projections of their growth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.statistics.io_cost import (
    CpuTime,
    Server,
    Uncertain,
    between,
    io_cost,
    operations,
    sampled,
    system_share,
)
from aferir.statistics.scaling import Scaling, fit, project

SERVER = Server(cores=4, frequency_hz=Uncertain(2e9), peak_w=Uncertain(400.0), idle_fraction=0.7)


def cpu(user: float, system: float, idle: float, iowait: float) -> CpuTime:
    return CpuTime(
        user_s=Uncertain(user),
        system_s=Uncertain(system),
        idle_s=Uncertain(idle),
        iowait_s=Uncertain(iowait),
    )


def test_cost_of_an_operation_that_can_be_worked_out_by_hand() -> None:
    """10 s on 4 cores, 10 + 6 s busy of 40: 400 W * (16 + 0.7 * 24) / 4 / 1000 operations."""
    found = io_cost(cpu(10, 6, 20, 4), SERVER, operations(512_000))
    assert found is not None
    assert found.cpio.value == pytest.approx(16 * 2e9 / 1000)
    assert found.system_cycles.value == pytest.approx(6 * 2e9 / 1000)
    assert found.eio_j.value == pytest.approx(400 * (16 + 0.7 * 24) / 4 / 1000)
    assert found.emio_j.value == pytest.approx(1e6 * found.eio_j.value)


def test_without_operations_there_is_no_cost() -> None:
    assert io_cost(cpu(1, 1, 1, 1), SERVER, 0) is None


positive = st.floats(1e-3, 1e6)


@given(busy=positive, idle=positive, peak=positive, frequency=st.floats(1e8, 1e10))
def test_the_energy_does_not_depend_on_the_frequency(
    busy: float, idle: float, peak: float, frequency: float
) -> None:
    def energy(hertz: float) -> float:
        server = Server(
            cores=2, frequency_hz=Uncertain(hertz), peak_w=Uncertain(peak), idle_fraction=0.5
        )
        found = io_cost(cpu(busy, 0, idle, 0), server, 10)
        assert found is not None
        return found.eio_j.value

    assert energy(frequency) == energy(2e9)


@given(st.floats(0.1, 1e3), st.floats(0, 0.2), st.floats(0.1, 1e3), st.floats(0, 0.2))
def test_relative_errors_of_a_product_add_in_squares(
    a: float, of_a: float, b: float, of_b: float
) -> None:
    product = Uncertain(a, a * of_a).times(Uncertain(b, b * of_b))
    assert product.relative == pytest.approx(math.hypot(of_a, of_b), abs=1e-12)


def test_what_ticks_say_of_a_window_is_as_uncertain_as_looking_so_often_is() -> None:
    rng = np.random.default_rng(3)
    for seconds in (0.2, 10.0):
        looks = int(seconds * 250)
        seen = rng.binomial(looks, 0.3, 4000) / 250
        said = sampled(0.3 * seconds, seconds, 250).error
        assert said == pytest.approx(float(np.std(seen)), rel=0.05)
    assert sampled(0.0, 10.0, 250).error == pytest.approx(1 / 250)


def test_two_calibrations_carry_their_difference_as_uncertainty() -> None:
    assert between(3.8e9, 3.6e9) == Uncertain(3.7e9, 0.1e9)


def law_costs(
    law: Scaling, noise: float, cores: tuple[int, ...], seed: int = 7
) -> dict[int, list[float]]:
    rng = np.random.default_rng(seed)
    return {n: list(law.at(n) * rng.normal(1, noise, 10)) for n in cores}


def test_a_law_is_found_again() -> None:
    law = Scaling(100.0, 0.05, 0.002)
    found = fit(law_costs(law, 0.0, (1, 2, 4, 8, 16)))
    assert (found.first, found.alpha, found.beta) == pytest.approx((100.0, 0.05, 0.002))
    assert fit(law_costs(Scaling(7.0, 0.1, 0.0), 0.0, (1, 4)), linear=True).alpha == (
        pytest.approx(0.1)
    )


def test_a_cost_that_falls_is_said_not_to_grow() -> None:
    found = fit({1: [10.0], 2: [9.0], 4: [8.0]})
    assert (found.alpha, found.beta) == (0.0, 0.0)


def test_nine_of_ten_projections_contain_the_truth() -> None:
    law = Scaling(100.0, 0.0, 0.001)
    inside = 0
    for seed in range(60):
        found = project(law_costs(law, 0.01, (1, 2, 4, 8, 16), seed), 100)
        assert found.growth is not None
        assert abs(found.held_out_error or 0) < 0.1
        inside += found.low < law.at(100) / law.first < found.high
    assert inside >= 50


def test_few_cores_and_much_noise_say_nothing_of_a_thousand() -> None:
    found = project(law_costs(Scaling(100.0, 0.01, 0.0), 0.2, (1, 2, 4)), 1000)
    assert found.growth is None
    assert "says nothing" in found.refused


def test_a_law_that_goes_through_all_that_was_measured_is_not_believed() -> None:
    costs = law_costs(Scaling(100.0, 0.05, 0.002), 0.0, (1, 2, 4))
    assert "none is left" in project(costs, 8).refused
    assert project(costs, 8, linear=True).growth is not None


def test_a_projection_that_misses_what_was_measured_is_refused() -> None:
    costs = {1: [1.0] * 5, 2: [1.0] * 5, 4: [1.0] * 5, 8: [10.0] * 5}
    assert "missed by -90 %" in project(costs, 16).refused


@pytest.mark.parametrize("costs", [{}, {1: [1.0]}, {1: [1.0], 2: [0.0]}, {1: [1.0], 2: [math.nan]}])
def test_costs_that_are_none_give_no_law(costs: dict[int, list[float]]) -> None:
    with pytest.raises(ValueError, match="cost"):
        fit(costs)


def test_shares_of_more_ticks_than_looks_are_weighted_by_how_often_each_looked() -> None:
    told = system_share((5.0, 5.0), (5.2, 4.8), 1250)
    assert told is not None
    assert told.value == pytest.approx((2 * 0.5 + 0.48) / 3)
    assert told.error == pytest.approx(math.sqrt(0.493 * 0.507 / 3750), rel=1e-3)


def test_as_many_looks_as_ticks_are_believed_alone() -> None:
    told = system_share((5.0, 5.0), (5.2, 4.8), 2500)
    assert told is not None
    assert told.value == pytest.approx(0.48)


def test_ticks_that_a_program_keeps_step_with_are_not_believed() -> None:
    told = system_share((10.0, 0.0), (5.0, 5.0), 5000)
    assert told is not None
    assert told.value == 0.5


def test_a_share_that_nobody_saw_is_none() -> None:
    assert system_share((0.0, 0.0), (0.0, 0.0), 0) is None
