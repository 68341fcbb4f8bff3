from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.machine import capabilities, facts
from aferir.machine.own_group import Limits, held_back, limits
from aferir.model.plan import HostLimits
from tests.unit.runner.fakes import carry_out, experiment

VERSION_1 = "32 31 0:29 / /cg/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct"
CPUSET_ONLY = "34 31 0:31 / /cg/cpuset rw shared:9 - cgroup cgroup rw,cpuset"
MEMORY = "35 31 0:32 / /cg/memory rw - cgroup cgroup rw,memory"
VERSION_2 = "41 31 0:38 / /cg rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate"
ONE = "4:cpuset:/\n3:cpu,cpuacct:/outer/inner\n0::/\n"
TWO = "0::/user.slice/batch.scope\n"


def nearest(memberships: str, mounts: str, files: dict[str, str]) -> str:
    return held_back(memberships, mounts, lambda path: files.get(str(path), ""))


@pytest.mark.parametrize(
    ("file", "text", "how"),
    [
        ("outer/inner/cpu.idle", "1", "outer/inner, which is idle"),
        ("outer/cpu.shares", "51", "outer, which has a weight of 51, where 1024 is usual"),
        ("outer/cpu.cfs_quota_us", "150000", "outer, which may use 1.5 CPUs"),
    ],
)
def test_what_holds_back_in_version_1_is_told_with_the_group(
    file: str, text: str, how: str
) -> None:
    files = {f"/cg/cpu,cpuacct/{file}": text, "/cg/cpu,cpuacct/outer/cpu.cfs_period_us": "100000"}
    assert nearest(ONE, f"{CPUSET_ONLY}\n{VERSION_1}", files).startswith(how)


@pytest.mark.parametrize(
    ("file", "text", "how"),
    [
        ("user.slice/batch.scope/cpu.weight", "1", "has a weight of 1, where 100 is usual"),
        ("user.slice/cpu.max", "50000 100000", "may use 0.5 CPUs"),
        ("user.slice/cpu.idle", "1", "is idle"),
    ],
)
def test_what_holds_back_in_version_2_is_told(file: str, text: str, how: str) -> None:
    assert how in nearest(TWO, VERSION_2, {f"/cg/{file}": text})


def test_usual_groups_hold_nothing_back() -> None:
    usual = {
        "/cg/user.slice/cpu.weight": "100",
        "/cg/user.slice/cpu.idle": "0",
        "/cg/user.slice/cpu.max": "max 100000",
        "/cg/cpu,cpuacct/outer/cpu.shares": "1024",
        "/cg/cpu,cpuacct/outer/cpu.cfs_quota_us": "-1",
        "/cg/cpu,cpuacct/outer/cpu.cfs_period_us": "100000",
    }
    assert nearest(TWO, VERSION_2, usual) == ""
    assert nearest(ONE, VERSION_1, usual) == ""


def test_groups_of_other_controllers_say_nothing() -> None:
    assert nearest(ONE, CPUSET_ONLY, {"/cg/cpuset/outer/cpu.idle": "1"}) == ""


POD = "/libpod_parent/libpod-205d"
INSIDE = f"4:memory:{POD}\n1:cpu:{POD}\n0::{POD}\n"
"""A container without a namespace of control groups is told the host's names."""


def around(memberships: str, mounts: str, files: dict[str, str]) -> Limits:
    return limits(memberships, mounts, lambda path: files.get(str(path), ""))


def test_limits_of_a_container_around_us_are_where_version_1_is_mounted() -> None:
    mounts = (
        f"96 95 0:29 {POD} /cg/cpu ro - cgroup cgroup rw,cpu\n"
        f"99 95 0:32 {POD} /cg/memory ro - cgroup cgroup rw,memory\n"
    )
    files = {
        "/cg/cpu/cpu.cfs_quota_us": "50000",
        "/cg/cpu/cpu.cfs_period_us": "100000",
        "/cg/memory/memory.limit_in_bytes": "209715200",
    }
    assert around(INSIDE, mounts, files) == Limits(0.5, 209715200)
    assert held_back(INSIDE, mounts, lambda path: files.get(str(path), "")) == ""


@pytest.mark.parametrize("membership", ["0::/\n", "0::/../../kubepods/pod1\n"])
def test_limits_of_a_container_with_a_namespace_of_control_groups(membership: str) -> None:
    files = {"/cg/cpu.max": "150000 100000", "/cg/memory.max": "1073741824"}
    assert around(membership, VERSION_2, files) == Limits(1.5, 2**30)


def test_the_smallest_limit_of_all_groups_above_counts() -> None:
    files = {
        "/cg/user.slice/batch.scope/cpu.max": "400000 100000",
        "/cg/user.slice/cpu.max": "max 100000",
        "/cg/cpu.max": "200000 100000",
        "/cg/user.slice/memory.max": "4096",
        "/cg/user.slice/batch.scope/memory.max": "max",
    }
    assert around(TWO, VERSION_2, files) == Limits(2.0, 4096)


def test_no_limit_is_none_in_both_versions() -> None:
    files = {
        "/cg/cpu,cpuacct/cpu.cfs_quota_us": "-1",
        "/cg/cpu,cpuacct/cpu.cfs_period_us": "100000",
        "/cg/memory/memory.limit_in_bytes": "9223372036854771712",
    }
    assert around(ONE, f"{VERSION_1}\n{MEMORY}", files) == Limits()
    assert (
        around(TWO, VERSION_2, {"/cg/cpu.max": "max 100000", "/cg/memory.max": "max"}) == Limits()
    )


def test_a_place_with_a_space_is_found() -> None:
    mounts = "41 31 0:38 / /my\\040cg rw - cgroup2 cgroup2 rw"
    assert around("0::/\n", mounts, {"/my cg/memory.max": "4096"}).memory_bytes == 4096


def test_the_doctor_tells_of_limits_that_bind() -> None:
    machine = facts.collect()
    bound = msgspec.structs.replace(machine, limits=Limits(0.5, 20 * 2**20))
    told = {finding.subject: finding for finding in capabilities.findings(bound)}
    assert "may use 0.5 CPUs" in told["cpu-limit"].message
    assert "20 MiB" in told["memory-limit"].message
    assert told["cpu-limit"].remedy
    assert told["memory-limit"].remedy
    loose = msgspec.structs.replace(machine, limits=Limits(64.0, 2**50))
    assert not {"cpu-limit", "memory-limit"} & {f.subject for f in capabilities.findings(loose)}


def test_doctor_tells_of_processors_that_are_kept_from_us() -> None:
    whole = facts.collect()
    some = msgspec.structs.replace(whole, cpus=8, allowed_cpus=(2, 3, 5))
    told = {finding.subject: finding for finding in capabilities.findings(some)}
    assert "3 of 8 CPUs: 2, 3, 5" in told["cpu-set"].message
    assert told["cpu-set"].remedy
    every = msgspec.structs.replace(whole, cpus=3, allowed_cpus=(0, 1, 2))
    assert "cpu-set" not in {finding.subject for finding in capabilities.findings(every)}


@pytest.mark.parametrize(
    ("quota", "most"), [(None, 4), (0.5, 1), (1.0, 1), (1.5, 2), (3.2, 4), (64.0, 4)]
)
def test_as_many_cpus_as_a_quota_keeps_busy_may_be_asked_for(
    quota: float | None, most: int
) -> None:
    assert HostLimits(cpus=(0, 1, 2, 3), memory_bytes=1, cpu_quota=quota).most_cpus == most


@pytest.mark.parametrize(
    ("around_us", "codes"), [({"cpus": 0.5}, ["cpu-limit"]), ({"cpus": 2.0}, []), ({}, [])]
)
def test_a_run_under_a_quota_says_so(
    tmp_path: Path, around_us: dict[str, float], codes: list[str]
) -> None:
    told = {"machine": {"limits": around_us, "allowed_cpus": [0, 1]}}
    done = carry_out(tmp_path, experiment(environments=["native"]), facts=told)
    assert [warning.code for warning in done.provenance.warnings] == codes


@given(st.text(), st.text(), st.text())
def test_any_text_is_read_without_an_error(memberships: str, mounts: str, file: str) -> None:
    held_back(memberships, mounts, lambda _path: file)
    limits(memberships, mounts, lambda _path: file)


@pytest.mark.parametrize(
    ("environments", "codes"), [(["native", "container"], ["own-group"]), (["native"], [])]
)
def test_a_run_that_sets_native_beside_others_says_what_holds_native_back(
    tmp_path: Path, environments: list[str], codes: list[str]
) -> None:
    told = {"machine": {"own_group": "batch, which is idle: it gives way to all others"}}
    done = carry_out(tmp_path, experiment(environments=environments), facts=told)
    assert [warning.code for warning in done.provenance.warnings] == codes
