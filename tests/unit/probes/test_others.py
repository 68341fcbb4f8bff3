"""Load of others: the host's busy time less the instance's own use."""

from __future__ import annotations

import pytest

from aferir.probes.others import load_of_others, own_seconds


def stat(user: int, idle: int, steal: int = 0) -> str:
    return f"cpu  {user} 0 0 {idle} 0 0 0 {steal} 0 0\n"


def test_a_quiet_machine_has_no_load_of_others() -> None:
    before = {"/proc/stat": stat(0, 0), "cgroup:cpuacct/cpuacct.usage": "0"}
    after = {"/proc/stat": stat(200, 200), "cgroup:cpuacct/cpuacct.usage": "2000000000"}
    assert load_of_others(before, after, 2.0, 100) == 0.0


def test_a_neighbour_on_one_cpu_and_stolen_time_count_as_others() -> None:
    before = {"/proc/stat": stat(0, 0), "cgroup:cpuacct/cpuacct.usage": "0"}
    after = {"/proc/stat": stat(300, 60, steal=40), "cgroup:cpuacct/cpuacct.usage": "2000000000"}
    assert load_of_others(before, after, 2.0, 100) == pytest.approx(0.7)


def test_the_closest_account_of_the_instance_wins() -> None:
    line = "42 (a ) b) S 1 1 1 0 -1 0 0 0 0 0 150 50 0 0 20 0 1 0 99"
    children = {"children:rusage": "1.5 0.25"}
    assert own_seconds(children, 100) == 1.75
    assert own_seconds({**children, "process:stat": line}, 100) == 2.0
    assert own_seconds({**children, "cgroup:cpuacct/cpuacct.usage": "7000000000"}, 100) == 7.0
    assert own_seconds({"cgroup:unified/cpu.stat": "usage_usec 500000\nuser_usec 1"}, 100) == 0.5
    assert own_seconds({}, 100) is None


def test_nothing_is_said_where_the_instance_has_no_account() -> None:
    assert load_of_others({"/proc/stat": stat(0, 0)}, {"/proc/stat": stat(1, 1)}, 1.0, 100) is None
