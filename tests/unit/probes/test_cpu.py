"""CPU time split: parsing, closing to 100 %, and counters that step back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.probes.cpu import STATES, CpuProbe, parse_cpu_ticks, split_percent

STAT = """cpu  100 2 30 400 5 6 7 8 0 0
cpu0 50 1 15 200 2 3 3 4 0 0
intr 1234 1 2 3
ctxt 5678
"""

ticks = st.tuples(*[st.integers(0, 2**40)] * len(STATES))


def test_the_line_of_all_cpus_is_read_and_guest_columns_are_not_added_again() -> None:
    assert parse_cpu_ticks(STAT) == (100, 2, 30, 400, 5, 6, 7, 8)


@given(st.text())
def test_any_text_gives_ticks_or_nothing(text: str) -> None:
    found = parse_cpu_ticks(text)
    assert found is None or len(found) == len(STATES)


@given(ticks, ticks)
def test_shares_close_to_100_percent_whatever_the_counters_do(
    before: tuple[int, ...], after: tuple[int, ...]
) -> None:
    shares = split_percent(before, after)
    if shares is None:
        assert all(b <= a for a, b in zip(before, after, strict=True))
    else:
        assert sum(shares) == pytest.approx(100.0)
        assert min(shares) >= 0.0


def test_a_quarter_of_the_ticks_is_25_percent() -> None:
    zero = (0,) * 8
    shares = split_percent(zero, (25, 0, 0, 75, 0, 0, 0, 0))
    assert shares == (25.0, 0.0, 0.0, 75.0, 0.0, 0.0, 0.0, 0.0)


def test_iowait_that_steps_back_counts_as_zero() -> None:
    before = (0, 0, 0, 0, 50, 0, 0, 0)
    shares = split_percent(before, (10, 0, 0, 10, 40, 0, 0, 0))
    assert shares is not None
    assert dict(zip(STATES, shares, strict=True))["iowait"] == 0.0


def test_a_container_is_accounted_by_its_control_group() -> None:
    before = {
        "cgroup:cpuacct/cpuacct.usage_user": "1000000000\n",
        "cgroup:cpuacct/cpuacct.usage_sys": "0\n",
        "cgroup:cpu/cpu.stat": "nr_periods 1\nnr_throttled 0\nthrottled_time 0\n",
    }
    after = {
        "cgroup:cpuacct/cpuacct.usage_user": "3500000000\n",
        "cgroup:cpuacct/cpuacct.usage_sys": "250000000\n",
        "cgroup:cpu/cpu.stat": "nr_periods 9\nnr_throttled 4\nthrottled_time 1500000000\n",
    }
    samples = CpuProbe().samples(before, after, 2.0, "instance")
    assert {s.metric: s.value for s in samples} == {
        "cpu_user_s": 2.5,
        "cpu_system_s": 0.25,
        "cpu_throttled_s": 1.5,
    }


def test_control_groups_of_version_2_give_the_same_metrics() -> None:
    before = {"cgroup:unified/cpu.stat": "usage_usec 0\nuser_usec 0\nsystem_usec 0\n"}
    after = {"cgroup:unified/cpu.stat": "usage_usec 30\nuser_usec 2000000\nsystem_usec 1000000\n"}
    samples = CpuProbe().samples(before, after, 2.0, "instance")
    assert {s.metric: s.value for s in samples} == {"cpu_user_s": 2.0, "cpu_system_s": 1.0}
