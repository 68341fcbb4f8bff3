"""Durations as services write them; ambiguous ones are refused rather than misread."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.colocation.sensors import durations


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0.25", 0.25),
        ("1e-3", 1e-3),
        ("843nanos", 843e-9),
        ("78.4micros", 78.4e-6),
        ("12.3µs", 12.3e-6),
        ("12.3\u03bcs", 12.3e-6),
        ("7 us", 7e-6),
        ("4.3ms", 4.3e-3),
        ("4.3 milliseconds", 4.3e-3),
        ("1.5 sec", 1.5),
        ("2m", 120.0),
        ("1m2.5s", 62.5),
        ("1h0m0.5s", 3600.5),
        ("1.1h", 3960.0),
        ("0d", 0.0),
        ("PT0.012S", 0.012),
        ("PT1M3S", 63.0),
        ("P1DT2H", 93600.0),
        ("00:00:01.5", 1.5),
        ("1.02:00:00", 93600.0),
    ],
)
def test_a_duration_is_read_in_every_way_it_is_written(text: str, seconds: float) -> None:
    assert durations.seconds(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text",
    ["", "-", "-1", "NaN", "inf", "1,234", "3 apples", "1s2m", "1s1s", "PT", "P", "1e6", "x1"],
)
def test_what_is_no_duration_is_none(text: str) -> None:
    assert durations.seconds(text) is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0.001, 2.9", 2.901),
        ("0.001,2.9", 2.901),
        ("0.010, 0.020 : 0.005", 0.035),
        ("-, 0.020", 0.020),
        ("1ms, 2ms", 0.003),
        ("1, 2", 3.0),
        ("1,234", None),
        ("1,234.5", None),
        ("-", None),
        ("0.1, x", None),
    ],
)
def test_several_times_are_added_and_doubtful_ones_are_not(
    text: str, seconds: float | None
) -> None:
    found = durations.total(text)
    assert found == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("took_ms", "ms"),
        ("response.took_millis", "ms"),
        ("durationMs", "ms"),
        ("durationMicros", "us"),
        ("http_request_duration_seconds", "s"),
        ("event.duration_ns", "ns"),
        ("event.duration", "ns"),
        ("responseTime", "ms"),
        ("took", None),
        ("items", None),
        ("forms", None),
        ("status", None),
        ("ms", "ms"),
    ],
)
def test_a_field_whose_name_ends_with_a_unit_says_its_unit(name: str, unit: str | None) -> None:
    assert durations.unit_of(name) == unit


@given(st.text(max_size=300), st.sampled_from(list(durations.UNITS.values())))
def test_no_text_makes_it_fall_over(text: str, unit_s: float) -> None:
    durations.says_nothing(text)
    durations.unit_of(text)
    for found in (durations.seconds(text, unit_s), durations.total(text, unit_s)):
        assert found is None or 0 <= found <= durations.LONGEST_S


@given(
    st.lists(
        st.sampled_from(["1", "0.5", ",", ", ", " : ", ":", "-", "ms", "s", "µs", "PT", "S", "e9"]),
        max_size=12,
    )
)
def test_no_mixture_of_its_words_makes_it_fall_over(words: list[str]) -> None:
    found = durations.total("".join(words))
    assert found is None or 0 <= found <= durations.LONGEST_S
