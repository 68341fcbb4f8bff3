"""An experiment on a machine that is smaller than the one it was written for."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.config import load, parse
from aferir.config.shrink import shrink
from aferir.errors import UsageError
from aferir.machine import facts
from aferir.model.plan import HostLimits, Plan
from aferir.registry import all_programs, kinds
from tests.checkout import ROOT
from tests.unit.runner.fakes import Watcher, carry_out, experiment

FILE = ROOT / "experiments" / "this-machine.toml"
GIB = 2**30


@pytest.fixture(autouse=True)
def usual_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `memory-bandwidth` needs goes by the caches of the machine, which tests may not."""
    monkeypatch.setattr(facts, "last_level_caches_bytes", lambda: 32 * 2**20)


def planned(host: HostLimits) -> Plan:
    return load(FILE, host, all_programs(), kinds())


def test_nothing_is_said_where_everything_fits() -> None:
    assert planned(HostLimits(cpus=(0, 1), memory_bytes=8 * GIB)).shrunk == ()


def test_one_cpu_gets_one_of_everything() -> None:
    plan = planned(HostLimits(cpus=(3,), memory_bytes=8 * GIB))
    assert {spec.cpus for spec in plan.environments} == {1}
    assert {cell.workload.parameters.get("threads", 1) for cell in plan.cells} == {1}
    cpus, threads = plan.shrunk
    assert cpus == "environments native, container, vm: 1 instead of 2 CPUs"
    assert threads.startswith("workloads EP.B, CG.A,")
    assert threads.endswith(": 1 instead of 2 threads")


def test_a_quota_of_a_container_counts_as_fewer_cpus() -> None:
    plan = planned(HostLimits(cpus=(0, 1), memory_bytes=8 * GIB, cpu_quota=0.5))
    assert {spec.cpus for spec in plan.environments} == {1}


@pytest.mark.parametrize("mebibytes", [1950, 2048, 2500])
def test_two_gigabytes_are_shared_with_the_host(mebibytes: int) -> None:
    memory = mebibytes * 2**20
    plan = planned(HostLimits(cpus=(0, 1), memory_bytes=memory))
    (size,) = {spec.memory_bytes for spec in plan.environments}
    assert memory // 2 - 2**26 < size <= memory // 2
    assert "of memory" in plan.shrunk[0]
    assert len(plan.shrunk) == 1


def test_what_does_not_fit_into_the_memory_is_left_out() -> None:
    plan = planned(HostLimits(cpus=(0, 1), memory_bytes=512 * 2**20))
    left = [text for text in plan.shrunk if "is left out" in text]
    assert any("`MG.B`" in text and "MiB" in text for text in left)
    names = {cell.workload.name for cell in plan.cells}
    assert "EP.B" in names
    assert "MG.B" not in names


def test_an_environment_that_cannot_start_with_so_little_is_left_out() -> None:
    plan = planned(HostLimits(cpus=(0, 1), memory_bytes=200 * 2**20))
    assert {spec.name for spec in plan.environments} == {"native", "container"}
    assert "environments vm: left out, 64 MiB of memory are too little" in plan.shrunk


def test_a_machine_that_holds_none_of_the_programs_is_told_so() -> None:
    content = b"""
[experiment]
name = "large"
shrink = true
[[environment]]
name = "native"
kind = "native"
memory = "2 GiB"
[[workload]]
name = "MG.B"
program = "npb"
kernel = "mg"
class = "B"
"""
    with pytest.raises(UsageError, match="none has memory enough"):
        parse(content, HostLimits(cpus=(0,), memory_bytes=2**28), all_programs(), kinds())


def test_without_leave_nothing_is_made_smaller() -> None:
    content = FILE.read_bytes().replace(b"shrink = true", b"shrink = false")
    one = HostLimits(cpus=(0,), memory_bytes=8 * GIB)
    with pytest.raises(UsageError, match="asks for 2 CPUs, and this host has 1"):
        parse(content, one, all_programs(), kinds())
    held = HostLimits(cpus=(0, 1), memory_bytes=8 * GIB, cpu_quota=0.5)
    with pytest.raises(UsageError, match=r"a control group around aferir may use 0\.5"):
        parse(content, held, all_programs(), kinds())


def test_other_mistakes_are_still_told() -> None:
    content = FILE.read_bytes().replace(b'kernel = "ep"', b'kernel = "pe"', 1)
    with pytest.raises(UsageError, match="kernel"):
        parse(content, HostLimits(cpus=(0,), memory_bytes=GIB), all_programs(), kinds())


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["cpus", "threads", "memory", "kind"]), inner, max_size=4)
    ),
    max_leaves=8,
)


@given(json, json)
def test_any_document_is_gone_through(environment: object, workload: object) -> None:
    document = {
        "experiment": {"shrink": True},
        "environment": environment,
        "workload": workload,
    }
    shrink(document, HostLimits(cpus=(0,), memory_bytes=GIB), kinds())


def test_it_is_said_before_the_run_and_kept_with_it(tmp_path: Path) -> None:
    content = experiment(environments=["native"], header="shrink = true")
    asked = content.replace(b'kind = "native"', b'kind = "native"\ncpus = 64')
    watcher = Watcher()
    done = carry_out(tmp_path, asked, watcher=watcher)
    said = "environments native: 2 instead of 64 CPUs"
    assert said in watcher.notes
    assert [(w.code, w.message) for w in done.provenance.warnings] == [("shrunk", said)]
