from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.machine.own_group import held_back
from tests.unit.runner.fakes import carry_out, experiment

VERSION_1 = "cgroup /cg/cpu,cpuacct cgroup rw,relatime,cpu,cpuacct 0 0"
CPUSET_ONLY = "cgroup /cg/cpuset cgroup rw,cpuset 0 0"
VERSION_2 = "cgroup2 /cg cgroup2 rw,nsdelegate 0 0"
ONE = "4:cpuset:/\n3:cpu,cpuacct:/outer/inner\n0::/\n"
TWO = "0::/user.slice/batch.scope\n"


def told(memberships: str, mounts: str, files: dict[str, str]) -> str:
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
    assert told(ONE, f"{CPUSET_ONLY}\n{VERSION_1}", files).startswith(how)


@pytest.mark.parametrize(
    ("file", "text", "how"),
    [
        ("user.slice/batch.scope/cpu.weight", "1", "has a weight of 1, where 100 is usual"),
        ("user.slice/cpu.max", "50000 100000", "may use 0.5 CPUs"),
        ("user.slice/cpu.idle", "1", "is idle"),
    ],
)
def test_what_holds_back_in_version_2_is_told(file: str, text: str, how: str) -> None:
    assert how in told(TWO, VERSION_2, {f"/cg/{file}": text})


def test_usual_groups_hold_nothing_back() -> None:
    usual = {
        "/cg/user.slice/cpu.weight": "100",
        "/cg/user.slice/cpu.idle": "0",
        "/cg/user.slice/cpu.max": "max 100000",
        "/cg/cpu,cpuacct/outer/cpu.shares": "1024",
        "/cg/cpu,cpuacct/outer/cpu.cfs_quota_us": "-1",
        "/cg/cpu,cpuacct/outer/cpu.cfs_period_us": "100000",
    }
    assert told(TWO, VERSION_2, usual) == ""
    assert told(ONE, VERSION_1, usual) == ""


def test_groups_of_other_controllers_say_nothing() -> None:
    assert told(ONE, CPUSET_ONLY, {"/cg/cpuset/outer/cpu.idle": "1"}) == ""


@given(st.text(), st.text(), st.text())
def test_any_text_is_read_without_an_error(memberships: str, mounts: str, file: str) -> None:
    held_back(memberships, mounts, lambda _path: file)


@pytest.mark.parametrize(
    ("environments", "codes"), [(["native", "container"], ["own-group"]), (["native"], [])]
)
def test_a_run_that_sets_native_beside_others_says_what_holds_native_back(
    tmp_path: Path, environments: list[str], codes: list[str]
) -> None:
    facts = {"machine": {"own_group": "batch, which is idle: it gives way to all others"}}
    done = carry_out(tmp_path, experiment(environments=environments), facts=facts)
    assert [warning.code for warning in done.provenance.warnings] == codes
