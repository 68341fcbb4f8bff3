"""What a Prometheus histogram gained, through resets, new series and torn text."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.colocation.sensors.exposition import Labels, gained, largest_bound, read_buckets

TEXT = """\
# HELP http_seconds Latency.
# TYPE http_seconds histogram
http_seconds_bucket{path="/a \\"}",le="0.1"} 5
http_seconds_bucket{path="/a \\"}",le="0.2"} 8 1700000000000
http_seconds_bucket{path="/a \\"}",le="+Inf"} 9
http_seconds_sum{path="/a \\"}"} 1.5
http_seconds_count{path="/a \\"}"} 9
http_seconds_bucket{path="/b",le="0.1",} 1
http_seconds_bucket{path="/b",le="+Inf"} 1
http_seconds_bucket{le="0.1" broken} 1
http_seconds_bucket{le="x"} 1
http_seconds_bucket{le="0.1"} x
http_seconds_bucket{le="0.1"}
other_bucket{le="0.1"} 77
"""
A: Labels = (("path", '/a "}'),)
B: Labels = (("path", "/b"),)


def test_buckets_are_read_by_series_and_what_is_broken_is_left_out() -> None:
    assert read_buckets(TEXT, "http_seconds") == {
        A: {0.1: 5.0, 0.2: 8.0, math.inf: 9.0},
        B: {0.1: 1.0, math.inf: 1.0},
    }
    assert set(read_buckets(TEXT, "http_seconds", {"path": "/b"})) == {B}
    assert largest_bound(read_buckets(TEXT, "http_seconds")) == 0.2
    assert largest_bound({}) == 0.0


def test_between_two_looks_the_difference_of_all_series_is_gained() -> None:
    before = {A: {0.1: 5.0, 0.2: 8.0, math.inf: 9.0}, B: {0.1: 1.0, math.inf: 1.0}}
    now = {A: {0.1: 7.0, 0.2: 14.0, math.inf: 16.0}, B: {0.1: 2.0, math.inf: 2.0}}
    made = gained(before, now)
    assert made.latencies.total == 8
    assert made.beyond == 1
    assert made.latencies.above(0.1) == 5
    assert made.latencies.above(0.2) == 1


def test_after_a_reset_what_a_series_holds_has_come_since() -> None:
    made = gained({A: {0.1: 5.0, math.inf: 9.0}}, {A: {0.1: 2.0, math.inf: 3.0}})
    assert (made.latencies.total, made.beyond) == (3, 1)


def test_a_new_series_counts_from_zero_and_one_that_went_is_forgotten() -> None:
    made = gained({A: {0.1: 5.0}}, {B: {0.1: 2.0}})
    assert made.latencies.total == 2


def test_bounds_in_milliseconds_are_scaled() -> None:
    made = gained({}, {A: {100.0: 0.0, 200.0: 10.0}}, scale=1e-3)
    assert made.latencies.value(0.5) == pytest.approx(0.145, abs=0.006)


def test_counts_torn_between_buckets_give_no_negative_number() -> None:
    made = gained({}, {A: {0.1: 5.0, 0.2: 3.0, 0.4: 6.0, math.inf: 6.0}})
    assert made.latencies.total == 6


@given(st.text(st.characters(max_codepoint=255), max_size=200))
def test_no_text_makes_it_fall_over(text: str) -> None:
    for body in (text, f"m_bucket{{{text}}} 1", f'm_bucket{{le="{text}"}} {text}'):
        gained({}, read_buckets(body, "m"))


BUCKETS = st.dictionaries(
    st.one_of(st.floats(allow_nan=False), st.just(math.inf)),
    st.floats(min_value=0, max_value=1e9),
    max_size=6,
)


@given(BUCKETS, BUCKETS)
def test_no_buckets_make_it_fall_over(one: dict[float, float], other: dict[float, float]) -> None:
    assert gained({(): one}, {(): other}).latencies.total >= 0
