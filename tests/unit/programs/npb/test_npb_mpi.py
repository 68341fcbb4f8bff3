"""NPB by message passing, and other builds of NPB: parameters, commands, parsed tables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.errors import MissingError, ProgramError, UnverifiedError
from aferir.model.plan import Parameter
from aferir.model.record import Sample
from aferir.programs.npb.ranks import MPI_KERNELS, NPB_MPI, possible_processes
from aferir.programs.npb.reference import NPB_REFERENCE, ReferenceRun, read_reference
from aferir.programs.npb.threads import CLASSES
from tests.unit.programs.taking import command_of, memory_of, wrong_with

TABLE = """
 CG Benchmark Completed.
 Class           =                        A
 Size            =                    14000
 Iterations      =                       15
 Time in seconds =                     0.35
 Total threads   =                        2
 Mop/s total     =                  4361.20
 Mop/s/thread    =                  2180.60
 Operation type  =           floating point
 Verification    =               SUCCESSFUL
 Version         =                    3.4.3
"""


def mpi(**changes: Parameter) -> dict[str, Parameter]:
    return {"kernel": "cg", "class": "S", **changes}


def reference(**changes: Parameter) -> dict[str, Parameter]:
    return {"npb_home": "/opt/npb", "kernel": "cg", "class": "A", **changes}


def test_processes_must_be_able_to_share_the_problem() -> None:
    assert not wrong_with(NPB_MPI, mpi(processes=4, mpi="mpich", isa="v3"))
    assert not wrong_with(NPB_MPI, mpi(kernel="ep", processes=3))
    assert "power of two up to 64" in wrong_with(NPB_MPI, mpi(processes=3))[0]
    assert wrong_with(NPB_MPI, mpi(kernel="ft", **{"class": "W"}, processes=64))
    assert not wrong_with(NPB_MPI, mpi(kernel="bt", processes=9))
    assert wrong_with(NPB_MPI, mpi(kernel="sp", processes=11))
    assert not wrong_with(NPB_MPI, mpi(kernel="lu", processes=6))
    assert "two numbers up to 5" in wrong_with(NPB_MPI, mpi(kernel="lu", processes=7))[0]
    assert wrong_with(NPB_MPI, mpi(processes=True))
    assert wrong_with(NPB_MPI, mpi(kernel="ua"))
    assert wrong_with(NPB_MPI, mpi(mpi="lam"))
    assert not wrong_with(NPB_MPI, mpi(share_among=1))
    assert "share_among" in wrong_with(NPB_MPI, mpi(share_among=0))[0]


@given(
    kernel=st.sampled_from(MPI_KERNELS),
    problem_class=st.sampled_from(CLASSES),
    processes=st.integers(1, 2048),
)
def test_what_is_accepted_is_what_can_be_shared(
    kernel: str, problem_class: str, processes: int
) -> None:
    wrong = wrong_with(NPB_MPI, {"kernel": kernel, "class": problem_class, "processes": processes})
    assert bool(wrong) != possible_processes(kernel, problem_class, processes)


@pytest.mark.parametrize("kernel", MPI_KERNELS)
def test_memory_grows_with_processes_and_class(kernel: str) -> None:
    by_class = [memory_of(NPB_MPI, {"kernel": kernel, "class": c}) for c in CLASSES]
    assert by_class == sorted(by_class)
    counts = [memory_of(NPB_MPI, mpi(kernel=kernel, processes=n)) for n in (1, 2, 4)]
    assert counts == sorted(set(counts))


def test_a_verified_run_gives_duration_and_throughput() -> None:
    line = {"program": "npb-mpi-cg", "duration_s": 2.5, "throughput_mops": 10.0, "verified": True}
    figures = NPB_MPI.parse(json.dumps(line))
    assert [f.value for f in figures if isinstance(f, Sample)] == [2.5, 10.0]
    with pytest.raises(ProgramError):
        NPB_MPI.parse(json.dumps(line | {"program": "npb-cg"}))
    with pytest.raises(UnverifiedError):
        NPB_MPI.parse(json.dumps(line | {"verified": False}))


def test_the_table_of_a_reference_run_is_read() -> None:
    assert read_reference(TABLE) == ReferenceRun(0.35, 4361.2)
    assert [s.value for s in NPB_REFERENCE.parse(TABLE)] == [0.35, 4361.2]
    assert read_reference(TABLE.replace("0.35", "0.35D+02")).duration_s == 35


@pytest.mark.parametrize("verdict", ["UNSUCCESSFUL", "NOT PERFORMED", "successful", ""])
def test_a_reference_run_that_did_not_verify_gives_no_number(verdict: str) -> None:
    with pytest.raises(UnverifiedError):
        read_reference(TABLE.replace("SUCCESSFUL", verdict))
    with pytest.raises(UnverifiedError):
        read_reference(TABLE.replace("SUCCESSFUL", verdict) + TABLE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0.35", "*****"), ("0.35", "0.3.5"), ("0.35", "NaN"), ("0.35", "9" * 400),
        ("4361.20", ""), ("Mop/s total", "Mop/s"), ("Verification", "Verdict"),
    ],
)  # fmt: skip
def test_an_unreadable_table_gives_no_number(old: str, new: str) -> None:
    with pytest.raises(ProgramError):
        read_reference(TABLE.replace(old, new))


def test_a_run_below_the_programs_clock_is_refused() -> None:
    with pytest.raises(ProgramError, match="too soon"):
        NPB_REFERENCE.parse(TABLE.replace("0.35", "0.00"))


@given(
    text=st.lists(st.sampled_from([*TABLE.splitlines(), "=", "Verification = SUCCESSFUL"])).map(
        "\n".join
    )
    | st.text()
)
def test_any_text_gives_figures_or_an_error(text: str) -> None:
    try:
        found = read_reference(text)
    except (ProgramError, UnverifiedError):
        return
    assert found == ReferenceRun(0.35, 4361.2)


@given(cut=st.integers(0, len(TABLE)))
def test_a_table_that_was_cut_gives_no_other_number(cut: int) -> None:
    try:
        found = read_reference(TABLE[:cut])
    except (ProgramError, UnverifiedError):
        return
    assert found == ReferenceRun(0.35, 4361.2)


def test_a_reference_program_is_found_by_the_names_that_builds_give(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match=r"cg\.A\.x"):
        command_of(NPB_REFERENCE, reference(npb_home=str(tmp_path)))
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "cg.A").touch()
    made = command_of(NPB_REFERENCE, reference(npb_home=str(tmp_path), threads=3))
    assert made.program == folder / "cg.A"
    assert made.environment == {"OMP_NUM_THREADS": "3"}
    (folder / "cg.A.x").touch()
    assert command_of(NPB_REFERENCE, reference(npb_home=str(folder))).program == folder / "cg.A.x"


def test_reference_parameters_that_contradict_are_named() -> None:
    assert not wrong_with(NPB_REFERENCE, reference(launch="mpi", processes=4, mpi="openmpi"))
    assert "launch" in wrong_with(NPB_REFERENCE, reference(processes=4))[0]
    assert wrong_with(NPB_REFERENCE, reference(npb_home="npb"))[0].startswith("npb_home: ")
    assert wrong_with(NPB_REFERENCE, {"kernel": "cg", "class": "A"})[0].startswith("npb_home: ")
    assert wrong_with(NPB_REFERENCE, reference(launch="ssh"))
