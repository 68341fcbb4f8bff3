"""Time in decisions: spans, holds, back-off, hysteresis, smoothing."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from aferir.colocation.policies.aferir.timing import BackOff, Hold, Span, exceeds, smooth

SECONDS = st.floats(min_value=0.01, max_value=1000.0)


def test_a_span_begins_when_its_condition_does_and_is_forgotten_when_it_ends() -> None:
    span = Span().observe(5.0, holds=True)
    assert span.observe(7.0, holds=True) == Span(5.0)
    assert span.observe(7.0, holds=False) == Span(math.inf)


@given(SECONDS, SECONDS)
def test_a_hold_stays_after_its_cause_and_ends(now_s: float, hold_s: float) -> None:
    held = Hold().observe(now_s, hold_s, cause=True)
    assert held.active
    assert held.observe(now_s + 0.99 * hold_s, hold_s, cause=False).active
    assert not held.observe(now_s + 1.01 * hold_s, hold_s, cause=False).active


def test_a_bar_doubles_with_each_harm_up_to_its_longest() -> None:
    bar, waits, now_s = BackOff(), [], 0.0
    for _ in range(6):
        bar = bar.after_harm(now_s, 1.0, 10.0, 100.0)
        waits.append(bar.wait_s)
        assert bar.until_s == now_s + bar.wait_s
        now_s = bar.until_s + 1.0
    assert waits == [10.0, 20.0, 40.0, 80.0, 100.0, 100.0]


def test_a_bar_is_short_again_after_a_time_without_harm_as_long_as_the_last_one() -> None:
    bar = BackOff(until_s=100.0, wait_s=40.0)
    assert bar.after_harm(141.0, 41.0, 10.0, 100.0).wait_s == 10.0
    assert bar.after_harm(139.0, 39.0, 10.0, 100.0).wait_s == 80.0


def test_hysteresis_ends_lower_than_it_begins() -> None:
    assert [exceeds(0.8, 0.85, 0.7, was=was) for was in (False, True)] == [False, True]
    assert [exceeds(0.6, 0.85, 0.7, was=was) for was in (False, True)] == [False, False]


@given(st.floats(0, 10), st.floats(0, 10), st.floats(0, 5), st.floats(0, 5))
def test_a_smoothed_value_is_between_the_old_and_the_new_one(
    before: float, now: float, past_s: float, over_s: float
) -> None:
    found = smooth(before, now, past_s, over_s)
    assert min(before, now) - 1e-9 <= found <= max(before, now) + 1e-9
