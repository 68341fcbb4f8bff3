"""Judgement of the bench of kernels; a contender that fails has no ratio."""

from __future__ import annotations

from pathlib import Path

import pytest

from aferir.errors import ProgramError
from aferir.programs.npb.threads import KERNELS
from aferir.selftest.npb import Case, Timing
from aferir.selftest.options import BenchOptions
from benchmarks.kernels import bench, broken, operations

LEVELS = ("v2", "v3", "v4")


def judged(rates: bench.Rates) -> dict[str, bool | None]:
    return {figure.name: figure.holds for figure in bench.ratios("cg.A.2", rates, LEVELS)}


def test_lowest_and_best_level_have_targets_and_those_between_have_none() -> None:
    found = judged({
        "v2": [16.0, 16.0], "v3": [1.0, 1.0], "v4": [39.0, 39.0],
        "npb-cpp": [10.0, 10.0], "npb-cpp-native": [20.0, 20.0], "npb-fortran": [17.0, 17.0],
    })  # fmt: skip
    assert {name.removeprefix("cg.A.2."): holds for name, holds in found.items()} == {
        "v2_over_npb-cpp": True, "v3_over_npb-cpp": None, "v4_over_npb-cpp": None,
        "v2_over_npb-cpp-native": None, "v3_over_npb-cpp-native": None,
        "v4_over_npb-cpp-native": False,
        "v2_over_npb-fortran": False, "v3_over_npb-fortran": None, "v4_over_npb-fortran": True,
    }  # fmt: skip


def test_rounds_begin_with_another_contender_each_and_one_that_fails_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    order: list[str] = []

    def ours(_case: Case, isa: str) -> Timing:
        if isa == "base":
            raise ProgramError("no such level")
        order.append(isa)
        return Timing(1.0, 10.0)

    def theirs(_case: Case, folder: Path, _limit_s: float) -> Timing:
        order.append(folder.name)
        if folder.name == "broken":
            raise ProgramError("it did not verify")
        return Timing(1.0, 5.0)

    monkeypatch.setattr(bench, "run_ours", ours)
    monkeypatch.setattr(bench, "run_peer", theirs)
    peers = {"npb-cpp": Path("shipped"), "npb-fortran": Path("broken")}
    options = BenchOptions(quick=True, only=("cg.S.1",), peers=peers)
    found = {f.name: f for f in bench.run(options, lambda _what, _share: None).figures}
    assert order[3:12] == ["v2", "v3", "v4", "shipped", "broken", "v3", "v4", "shipped", "v2"]
    assert found["cg.S.1.v2_over_npb-cpp"].value == pytest.approx(2.0)
    assert found["cg.S.1.npb-fortran"].note == "it did not verify"
    assert not any("over_npb-fortran" in name for name in found)


def test_operations_are_those_of_the_level_by_how_often_each_instruction_ran() -> None:
    listing = """
0000000000401000 <_ZN6aferir3npb6isa_v23runEv>:
  401000:\tmovapd %xmm0,%xmm1
  401004:\taddpd  %xmm0,%xmm1
  401008:\tmulsd  (%rax),%xmm2

0000000000401010 <_ZN6aferir3npb5setupEv>:
  401010:\tdivsd  %xmm0,%xmm1
"""
    profile = """
fn=run
0x401000 0 7
0x401004 0 5
calls=3 0x401010
0x401008 0 900
0x401008 0 4
0x401010 0 8
"""
    numbers = operations.read_disassembly(listing)
    assert numbers == {0x401004: 2, 0x401008: 1}
    executions = operations.read_callgrind(profile)
    assert sum(executions.get(a, 0) * n for a, n in numbers.items()) == 5 * 2 + 4
    assert operations.Operations(executed=110, nominal=200.0, iterations=10).share == 0.5


def test_each_fault_changes_one_place_of_a_kernel() -> None:
    assert set(broken.FAULTS) == set(KERNELS)
    for fault in (one for faults in broken.FAULTS.values() for one in faults):
        source = (broken.KERNELS / "npb" / fault.file).read_text(encoding="utf-8")
        assert broken.put(fault, source) != source
    with pytest.raises(ProgramError, match="has 2 times"):
        broken.put(broken.Fault("a.hpp", "b", "c"), "b b")
