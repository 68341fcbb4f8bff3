from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.report.formatting import (
    change,
    instant,
    listing,
    metric_name,
    number,
    p_value,
    percent,
    quantity,
    quantity_interval,
    scale,
)
from aferir.statistics.intervals import Interval


def interval(low: float, high: float) -> Interval:
    return Interval(low, high, 0.95, "t")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0"),
        (1.0, "1.00"),
        (12.345, "12.3"),
        (9.999, "10.0"),
        (999.6, "1,000"),
        (123456.0, "123,000"),
        (-0.001234, "-0.00123"),
        (math.inf, "∞"),
        (math.nan, "–"),  # noqa: RUF001
        (None, "–"),  # noqa: RUF001
    ],
)
def test_number_has_three_significant_digits(value: float | None, shown: str) -> None:
    assert number(value) == shown


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (0.00123, "s", "1.23 ms"),
        (0.9996, "s", "1.00 s"),
        (125.0, "s", "125 s"),
        (3.53e-5, "J", "35.3 µJ"),
        (1290.0, "J", "1.29 kJ"),
        (3.5e-8, "s", "35.0 ns"),
        (0.0, "s", "0 s"),
        (3.82e9, "Hz", "3.82 GHz"),
        (4361.0, "Mop/s", "4.36 Gop/s"),
        (2_000_000.0, "B", "2.00 MB"),
        (999_700.0, "B", "1.00 MB"),
        (0.25, "B/s", "0.250 B/s"),
        (412.0, "count", "412"),
        (76.0, "1", "76"),
        (76.0, "", "76"),
        (123_456.0, "1", "123,000"),
        (0.5, "1", "0.500"),
        (-3.0, "count", "-3"),
        (412.0, "1", "412"),
        (12.34, "%", "12.3 %"),
    ],
)
def test_quantity_is_scaled_only_here(value: float, unit: str, shown: str) -> None:
    assert quantity(value, unit) == shown


def test_a_figure_and_its_interval_share_one_scale() -> None:
    assert quantity_interval(0.00123, interval(0.00098, 0.00149), "s") == "1.23 ms [0.98, 1.49]"
    assert quantity_interval(0.00123, None, "s") == "1.23 ms"
    assert quantity_interval(0.5, interval(0.4, 0.6), "1") == "0.500 [0.400, 0.600]"
    assert quantity_interval(76.0, interval(74.0, 79.0), "1") == "76 [74, 79]"
    assert quantity_interval(76.0, interval(74.5, 79.0), "1") == "76.0 [74.5, 79.0]"
    assert quantity_interval(4096.0, interval(4096.0, 4096.0), "1") == "4,096 [4,096, 4,096]"
    assert quantity_interval(4096.0, interval(4000.0, 4200.0), "1") == "4,100 [4,000, 4,200]"
    assert quantity_interval(None, None, "s") == "–"  # noqa: RUF001
    assert quantity_interval(37_497.0, interval(34_836, 40_158), "1") == "37,500 [34,800, 40,200]"
    assert quantity_interval(0.0, interval(-3e-10, 2e-10), "s") == "0 ns [-0.300, 0.200]"
    assert quantity_interval(0.0, interval(0.0, math.inf), "s") == "0 s [0, ∞]"


def test_changes_are_percent_up_to_twice() -> None:
    assert change(1.0123, interval(1.004, 1.021)) == "+1.2 % [+0.4, +2.1]"
    assert change(0.98) == "-2.0 %"
    assert change(1.0001, interval(0.9999, 1.0003)) == "0.0 % [0.0, 0.0]"
    assert change(1.114, interval(1.096, 1.134)) == "+11 % [+10, +13]"
    assert change(38.2, interval(36.9, 39.6)) == "38.2 times [36.9, 39.6]"
    assert change(None) == "–"  # noqa: RUF001


def test_small_words() -> None:
    assert percent(0.012) == "1.2 %"
    assert percent(0.5) == "50 %"
    assert p_value(0.00001) == "< 0.0001"
    assert p_value(0.0234) == "0.023"
    assert listing(["a"]) == "a"
    assert listing(["a", "b", "c"]) == "a, b and c"
    assert metric_name("load_of_others_cpus") == "load of others"
    assert metric_name("core_frequency_hz_before") == "core frequency before"
    assert metric_name("highest_requests_per_s") == "highest requests per second"
    assert metric_name("packets_per_slave") == "packets per slave"
    assert metric_name("bytes") == "bytes"
    assert metric_name("tar_s") == "TaR"
    assert instant(1_760_000_000_000_000_000) == "2025-10-09 08:53:20 UTC"


@given(st.floats(1e-8, 1e12))
def test_what_is_printed_is_the_value(value: float) -> None:
    assert float(number(value).replace(",", "")) == pytest.approx(value, rel=0.0051)


@given(st.floats(1e-12, 1e15), st.sampled_from(["s", "J", "B/s", "Hz", "Mop/s"]))
def test_scaling_loses_nothing(value: float, unit: str) -> None:
    factor, shown = scale(value, unit)
    assert factor > 0
    assert shown
    shown_number = float(quantity(value, unit).split()[0].replace(",", ""))
    assert shown_number * factor == pytest.approx(value, rel=0.0051)
