"""Clocks with known errors, over a day of simulated time."""

from __future__ import annotations

import numpy as np
import pytest

from aferir.clock.delays import Network
from aferir.clock.follow import Following, follow
from aferir.clock.looks import Filter
from aferir.clock.oscillator import Oscillators, Process

INJECTED = (-100e-6, -30e-6, -5e-6, 5e-6, 30e-6, 100e-6)
ASYMMETRIC = Network(asymmetry_s=30e-6)
FILTERS: tuple[Filter, ...] = ("round-trip", "directions")
PROCESSES: tuple[Process, ...] = ("random-walk", "flicker")


@pytest.mark.parametrize("keep", FILTERS)
@pytest.mark.parametrize("process", PROCESSES)
@pytest.mark.parametrize("seed", range(3))
def test_a_clock_stays_inside_its_bound_for_a_day(
    keep: Filter, process: Process, seed: int
) -> None:
    followed = follow(
        Following(
            rates=INJECTED,
            network=ASYMMETRIC,
            oscillators=Oscillators(wander=0.1e-6, process=process),
            keep=keep,
            server_offset_s=12_345.0,
        ),
        np.random.default_rng(seed),
    )
    assert followed.error_s.shape == (10_000, len(INJECTED))
    assert followed.inside == 1.0
    # The bound is worth something: it is not wider than twice the wander and the rate's error.
    assert followed.bound_s.max() < 86_400 * 0.5e-6


@pytest.mark.parametrize("keep", FILTERS)
def test_the_hardest_wander_that_is_allowed_stays_inside_too(keep: Filter) -> None:
    """One end of the wander while looking, the other for the rest of the day, is the limit."""
    following = Following(
        rates=INJECTED * 10,
        network=ASYMMETRIC,
        oscillators=Oscillators(wander=0.1e-6, walk_per_root_s=1e-8),
        keep=keep,
        checks=1000,
    )
    for seed in range(5):
        assert follow(following, np.random.default_rng(seed)).inside == 1.0


def test_a_bound_that_does_not_grow_is_found_out() -> None:
    """The tests above would fail with a bound that forgets how time goes by."""
    following = Following(rates=INJECTED * 10, network=ASYMMETRIC, checks=1000)
    followed = follow(following, np.random.default_rng(1))
    assert np.mean(np.abs(followed.error_s) <= followed.second.bound_s) < 0.5


@pytest.mark.parametrize("keep", FILTERS)
def test_no_rate_is_invented_where_there_is_none(keep: Filter) -> None:
    following = Following(
        rates=(0.0,) * 2000,
        network=ASYMMETRIC,
        oscillators=Oscillators(wander=0.0),
        keep=keep,
        checks=10,
    )
    followed = follow(following, np.random.default_rng(3))
    assert np.abs(followed.second.rate).max() < 0.1e-6
    assert followed.inside == 1.0


@pytest.mark.parametrize("keep", FILTERS)
def test_an_injected_rate_is_found(keep: Filter) -> None:
    following = Following(
        rates=INJECTED * 50, oscillators=Oscillators(wander=0.0), keep=keep, checks=10
    )
    followed = follow(following, np.random.default_rng(4))
    # The offset shrinks as the client gains: the rate of the line is the opposite.
    assert np.abs(followed.second.rate + np.array(following.rates)).max() < 0.2e-6


@pytest.mark.parametrize("asymmetry_s", [0.0, 30e-6])
def test_one_look_is_wrong_by_at_most_half_its_round_trip(asymmetry_s: float) -> None:
    following = Following(
        rates=(0.0,) * 5000,
        network=Network(asymmetry_s=asymmetry_s, tail_probability=0.3),
        oscillators=Oscillators(wander=0.0),
        interval_s=1000.0,
        duration_s=500.0,
        checks=1,
    )
    followed = follow(following, np.random.default_rng(5))
    assert np.all(np.abs(followed.error_s[0]) <= followed.first.bound_s)
    # Delays that differ by a constant move the clock by half of it; jitter alone does not.
    assert (np.abs(followed.error_s[0]).max() > 10e-6) == (asymmetry_s > 0)


def test_the_servers_own_time_does_not_matter() -> None:
    here, there = (
        follow(
            Following(rates=INJECTED, checks=100, server_offset_s=offset),
            np.random.default_rng(6),
        )
        for offset in (0.0, 5000.0)
    )
    # A wander of 0.1 ppm of a different hour is no matter: the draws are the same.
    assert there.error_s == pytest.approx(here.error_s, abs=2e-7)
