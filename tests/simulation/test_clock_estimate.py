from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.clock.delays import Array
from aferir.clock.estimate import (
    Line,
    Look,
    error_bound,
    first_line,
    global_time,
    offset_of_directions,
    offset_of_trip,
    path_excess,
    second_line,
)

delays = st.floats(0, 0.1)
offsets = st.floats(-1e5, 1e5)
instants = st.floats(0, 1e4)


def an(value: float) -> Array:
    return np.array([value])


def look(local: float, offset: float, bound: float = 40e-6, excess: float = 1e-6) -> Look:
    return Look(local_s=an(local), offset_s=an(offset), bound_s=an(bound), excess_s=an(excess))


@given(instants, offsets, delays)
def test_symmetric_delays_give_the_offset_itself(sent: float, offset: float, one: float) -> None:
    estimate, bound = offset_of_trip(an(sent), an(sent + one + offset), an(sent + 2 * one))
    assert estimate[0] == pytest.approx(offset, abs=1e-9)
    assert bound[0] == pytest.approx(one, abs=1e-9)


@given(instants, offsets, delays, delays)
def test_the_error_is_at_most_half_the_round_trip(
    sent: float, offset: float, forward: float, back: float
) -> None:
    pre, server, post = an(sent), an(sent + forward + offset), an(sent + forward + back)
    estimate, bound = offset_of_trip(pre, server, post)
    assert abs(estimate[0] - offset) <= bound[0] + 1e-9


@given(instants, offsets, delays, delays, st.floats(-1e6, 1e6))
def test_shifting_the_server_shifts_the_estimate(
    sent: float, offset: float, forward: float, back: float, shift: float
) -> None:
    pre, server, post = an(sent), an(sent + forward + offset), an(sent + forward + back)
    estimate, bound = offset_of_trip(pre, server, post)
    shifted, same = offset_of_trip(pre, server + shift, post)
    assert shifted[0] - estimate[0] == pytest.approx(shift, abs=1e-9, rel=1e-12)
    assert same[0] == bound[0]


@given(offsets, st.lists(st.tuples(delays, delays), min_size=1, max_size=8))
def test_directions_are_never_wider_than_the_smallest_round_trip(
    offset: float, pairs: list[tuple[float, float]]
) -> None:
    forward = np.array([f for f, _ in pairs])
    back = np.array([b for _, b in pairs])
    estimate, bound = offset_of_directions(
        an(forward.min() + offset), an(back.min() - offset), span_s=an(1.0), rate_limit=0.0
    )
    assert bound[0] <= (forward + back).min() / 2 + 1e-9
    assert abs(estimate[0] - offset) <= bound[0] + 1e-9


def test_directions_allow_for_the_drift_between_their_exchanges() -> None:
    # A clock 100 ppm fast: a second later the way back seems 100 us longer, and more.
    _, bound = offset_of_directions(an(10e-6), an(-85e-6), span_s=an(1.0), rate_limit=200e-6)
    assert bound[0] == pytest.approx((10e-6 - 85e-6 + 200e-6) / 2)


@given(offsets, st.floats(-100e-6, 100e-6), st.floats(1, 1e3), st.floats(0, 1e5))
def test_two_exact_looks_give_the_clock_itself(
    offset: float, rate: float, interval: float, later: float
) -> None:
    """A client that starts at `offset` behind and gains `rate` against the server."""

    def local(true: float) -> float:
        return true * (1 + rate) - offset

    looks = [
        Look(
            local_s=an(local(true)),
            offset_s=an(true - local(true)),
            bound_s=an(0.0),
            excess_s=an(0.0),
        )
        for true in (0.0, interval)
    ]
    line = second_line(looks[0], looks[1], wander=0.0)
    true = interval + later
    # Readings of 1e5 s have a resolution of 1.5e-11 s, which the rate carries on.
    tolerance = 1e-9 * (1 + later / interval)
    assert global_time(line, an(local(true)))[0] == pytest.approx(true, abs=tolerance)


def test_the_bound_grows_as_it_should() -> None:
    line = second_line(look(0.0, 5.0), look(10.0, 5.0 + 300e-6, excess=2e-6), wander=0.1e-6)
    assert line.rate[0] == pytest.approx(30e-6)
    assert line.rate_bound[0] == pytest.approx(0.3e-6)
    later = error_bound(line, an(1010.0))[0]
    assert later == pytest.approx(40e-6 + (0.3e-6 + 2 * 0.1e-6) * 1000, rel=1e-3)
    assert error_bound(line, an(10.0))[0] >= 40e-6


def test_a_path_that_may_change_costs_the_full_bounds() -> None:
    line = second_line(look(0.0, 5.0), look(10.0, 5.0), wander=0.0, repeatable=False)
    assert line.rate_bound[0] == pytest.approx(8e-6)


def test_without_a_rate_the_limit_counts() -> None:
    line = first_line(look(0.0, 5.0), rate_limit=200e-6)
    assert global_time(line, an(100.0))[0] == 105.0
    assert error_bound(line, an(100.0))[0] == pytest.approx(40e-6 + 0.02, rel=1e-3)


@given(st.floats(0, 1e5), st.floats(0, 1e5))
def test_a_bound_never_shrinks_as_time_goes_by(first: float, second: float) -> None:
    line = Line(
        local_s=an(0.0),
        offset_s=an(0.0),
        rate=an(30e-6),
        bound_s=an(1e-6),
        rate_bound=an(1e-6),
        wander=an(0.2e-6),
    )
    early, late = sorted((first, second))
    assert error_bound(line, an(early))[0] <= error_bound(line, an(late))[0]


def test_what_lies_above_the_least_delays_is_jitter_that_counts() -> None:
    assert path_excess(an(1e-6), an(0.0), an(90e-6), an(92e-6))[0] == pytest.approx(1.5e-6)
    assert path_excess(an(1e-6), an(0.0), an(92e-6), an(90e-6))[0] == pytest.approx(2.5e-6)
    assert path_excess(an(1e-6), an(4e-6), an(90e-6), an(90e-6))[0] == pytest.approx(3.5e-6)
