"""Increase of a Prometheus histogram between scrapes: resets, new series, torn text."""

from __future__ import annotations

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.colocation.sensors.exposition import (
    Labels,
    Scraped,
    gained,
    largest_bound,
    read_buckets,
    whole,
)
from aferir.colocation.sensors.selector import Selector
from aferir.errors import UsageError

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


def read(metric: str, text: str = TEXT) -> Scraped:
    return read_buckets(text, Selector.parse(metric))


@pytest.mark.parametrize(
    "line",
    [
        'm_bucket{le="0.1"} 7',
        'm_bucket {le="0.1"} 7',
        ' m_bucket\t{ le = "0.1" , }  7 1700000000000',
        'm_bucket{le="0.1"} 7.0e0 # {trace_id="6c}10"} 0.006',
        'm_bucket{le="0.1"} 7 # {trace_id="a"} 9.8 1520879607.789\r',
        'm_bucket{le="0.1"} 7 1700000000.123 # {} 0.006',
        '{"m_bucket",le="0.1"} 7',
        '{"m_bucket","le"="0.1"} 7',
    ],
)
def test_a_bucket_is_read_however_it_is_written(line: str) -> None:
    assert read("m", f"{line}\n") == Scraped({(): {0.1: 7.0}})


@pytest.mark.parametrize(
    ("metric", "paths"),
    [
        ("m", {"/a", "/b", "/c"}),
        ("m_bucket", {"/a", "/b", "/c"}),
        ('m{path="/a"}', {"/a"}),
        ("m{path='/a'}", {"/a"}),
        ('m{path!="/a"}', {"/b", "/c"}),
        ('m{path=~"/a|/b"}', {"/a", "/b"}),
        ('m{path=~"/"}', set()),
        ('m {path!~"/[ab]", other=""}', {"/c"}),
        ('m{other!=""}', set()),
    ],
)
def test_series_are_chosen_by_their_labels(metric: str, paths: set[str]) -> None:
    text = "".join(f'm_bucket{{path="{path}",le="+Inf"}} 1\n' for path in ("/a", "/b", "/c"))
    assert {dict(labels)["path"] for labels in read(metric, text).series} == paths


@pytest.mark.parametrize("wrong", ["", "{}", "m{", "m{a}", 'm{a="b" c="d"}', 'm{a=~"("}', "m{a=b}"])
def test_an_invalid_selection_of_series_is_refused(wrong: str) -> None:
    with pytest.raises(UsageError):
        Selector.parse(wrong)


def test_a_series_that_is_cut_off_is_not_whole() -> None:
    cut, all_of_it = {0.1: 5.0}, {0.1: 5.0, math.inf: 9.0}
    assert whole({A: cut, B: all_of_it}, {}) == {B}
    assert whole({B: all_of_it}, {B: {0.1: 1.0, 0.2: 1.0, math.inf: 1.0}}) == set()


def test_a_bucket_that_fell_alone_is_torn_and_no_reset() -> None:
    made = gained({A: {0.1: 500.0, math.inf: 900.0}}, {A: {0.1: 499.0, math.inf: 903.0}})
    assert made.latencies.total == 3


def test_buckets_are_read_by_series_and_what_is_broken_is_left_out() -> None:
    scraped = read("http_seconds")
    assert scraped.series == {
        A: {0.1: 5.0, 0.2: 8.0, math.inf: 9.0},
        B: {0.1: 1.0, math.inf: 1.0},
    }
    assert (scraped.unread, scraped.kind) == (4, "histogram")
    assert set(read('http_seconds{path="/b"}').series) == {B}
    assert largest_bound(scraped.series) == 0.2
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
        gained({}, read("m", body).series)


@given(st.text(max_size=60))
def test_no_selection_of_series_crashes_the_parser(text: str) -> None:
    for written in (text, f"m{{{text}}}", f'm{{a=~"{text}"}}'):
        with contextlib.suppress(UsageError):
            read(written)


BUCKETS = st.dictionaries(
    st.one_of(st.floats(allow_nan=False), st.just(math.inf)),
    st.floats(min_value=0, max_value=1e9),
    max_size=6,
)


@given(BUCKETS, BUCKETS)
def test_no_buckets_crash_the_parser(one: dict[float, float], other: dict[float, float]) -> None:
    assert gained({(): one}, {(): other}).latencies.total >= 0
