"""Lattice Boltzmann: parameters, commands, what the program prints, and one real run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.errors import MissingError, ProgramError, UnverifiedError
from aferir.linux import process
from aferir.model.plan import Parameter
from aferir.programs.kernels import kernel_path
from aferir.programs.lattice_boltzmann import IN_32_BITS, LATTICE_BOLTZMANN, PROGRAM
from benchmarks.cluster.lattice_boltzmann import PEERS, Speed, judge, read_peer, run_peer
from tests.unit.programs.taking import command_of, memory_of, wrong_with

PEER = (
    "#   fluid cells:       \t3994240 \n"
    "P:   78.826162 MFLUP/s  t: 2  d: 3.040290 s  iter: 60  fnodes: 3.994240 x1e6  "
    "geo: channel  kernel: list-aa-pv-soa  B  dp\n"
)


def parameters(**changes: Parameter) -> dict[str, Parameter]:
    return {"geometry": "duct", **changes}


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (PROGRAM, f"{PROGRAM}-mpi-openmpi", f"{PROGRAM}-mpi-mpich"):
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setenv("AFERIR_KERNELS", str(tmp_path))
    return tmp_path


def test_the_examples_of_the_reference_are_accepted() -> None:
    assert not wrong_with(LATTICE_BOLTZMANN, parameters())
    assert not wrong_with(
        LATTICE_BOLTZMANN,
        parameters(size="8x32x48", ends="pressure", threads=2, processes=2, viscosity=0.5),
    )
    assert not wrong_with(LATTICE_BOLTZMANN, {"geometry": "file", "voxels": "/data/rock.voxels"})
    assert not wrong_with(LATTICE_BOLTZMANN, parameters(grow=True, roofline=True, mpi="mpich"))


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"geometry": "cave"}, "geometry"), ({"size": "8x8"}, "size"),
        ({"size": "8x8x0"}, "size"), ({"size": 8}, "size"), ({"size": "8x8x99999"}, "size"),
        ({"ends": "open"}, "ends"), ({"viscosity": 0}, "viscosity"),
        ({"viscosity": True}, "viscosity"), ({"fraction": float("nan")}, "fraction"),
        ({"threads": 0}, "threads"), ({"processes": 0}, "processes"), ({"mpi": "lam"}, "mpi"),
        ({"voxels": "/a"}, "voxels"), ({"geometry": "file"}, "voxels"),
        ({"geometry": "file", "voxels": "a"}, "voxels"), ({"grow": 1}, "grow"),
        ({"geometry": "sc", "grow": True}, "grow"), ({"isa": "v9"}, "isa"),
    ],
)  # fmt: skip
def test_a_wrong_parameter_is_named(changes: dict[str, Parameter], named: str) -> None:
    wrong = wrong_with(LATTICE_BOLTZMANN, parameters(**changes))
    assert wrong
    assert wrong[0].startswith(f"{named}: ")


@given(
    x=st.integers(1, 2**14), y=st.integers(1, 2**14), z=st.integers(1, 2**14),
    geometry=st.sampled_from(["slit", "duct", "sc", "bcc", "fcc", "packing", "blocks"]),
)  # fmt: skip
def test_memory_holds_the_populations_of_every_cell(x: int, y: int, z: int, geometry: str) -> None:
    given_size: dict[str, Parameter] = {"geometry": geometry, "size": f"{x}x{y}x{z}"}
    assert not wrong_with(LATTICE_BOLTZMANN, given_size)
    assert memory_of(LATTICE_BOLTZMANN, given_size) > x * y * z * 19 * 8


def test_threads_run_the_program_and_processes_an_mpi(kernels: Path) -> None:
    alone = command_of(LATTICE_BOLTZMANN, parameters(threads=2, block_steps=4, roofline=True))
    assert alone.program == kernels / PROGRAM
    line = " ".join(alone.arguments)
    assert "--threads 2" in line
    assert "--block-steps 4" in line
    assert line.endswith("--roofline --size 64x64x64")
    try:
        ranks = command_of(LATTICE_BOLTZMANN, parameters(processes=3))
    except MissingError as error:
        pytest.skip(error.message)
    assert "-n 3" in " ".join(ranks.arguments)
    assert any(PROGRAM + "-mpi-" in word for word in ranks.arguments)


def test_32_bits_are_a_program_of_their_own_and_by_threads_alone(kernels: Path) -> None:
    with pytest.raises(MissingError, match="lattice-boltzmann-32"):
        command_of(LATTICE_BOLTZMANN, parameters(bits=32))
    (kernels / IN_32_BITS).touch(mode=0o755)
    assert command_of(LATTICE_BOLTZMANN, parameters(bits=32)).program.name == IN_32_BITS
    assert command_of(LATTICE_BOLTZMANN, parameters(bits=64)).program.name == PROGRAM
    assert not wrong_with(LATTICE_BOLTZMANN, parameters(bits=32, threads=2))
    assert "no 32-bit MPI" in wrong_with(LATTICE_BOLTZMANN, parameters(bits=32, processes=2))[0]
    assert "`32`, `64`" in wrong_with(LATTICE_BOLTZMANN, parameters(bits=48))[0]


def test_in_32_bits_a_ducts_permeability_is_that_of_64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AFERIR_KERNELS", raising=False)
    found = []
    for bits in (32, 64):
        try:
            command = command_of(LATTICE_BOLTZMANN, parameters(size="4x16x16", steps=0, bits=bits))
        except MissingError as error:
            pytest.skip(f"{error.message}; {error.remedy}")
        done = process.run([str(command.program), *command.arguments])
        samples = LATTICE_BOLTZMANN.parse(done.stdout)
        found.append({s.metric: s.value for s in samples}["permeability_cells2"])
    assert found[0] == pytest.approx(found[1], rel=1e-9)


def test_a_box_that_grows_has_as_much_for_each_thread_and_process(kernels: Path) -> None:
    assert kernels
    alone = command_of(LATTICE_BOLTZMANN, parameters(size="4x5x6", grow=True, threads=3))
    assert "4x5x18" in alone.arguments


def test_figures_of_a_flow_that_is_not_steady_say_nothing_of_permeability() -> None:
    line = {
        "program": PROGRAM, "duration_s": 2.0, "mflups": 50.0, "gflops": 7.65, "imbalance": 0.0,
        "verified": True,
    }  # fmt: skip
    metrics = [s.metric for s in LATTICE_BOLTZMANN.parse(json.dumps(line))]
    assert metrics == ["duration_s", "throughput_mflups", "throughput_gflops", "imbalance"]
    with pytest.raises(UnverifiedError):
        LATTICE_BOLTZMANN.parse(json.dumps({**line, "verified": False}))
    with pytest.raises(ProgramError):
        LATTICE_BOLTZMANN.parse(json.dumps({**line, "mflups": 0}))


def test_the_peers_line_is_read_and_no_other_kernels() -> None:
    assert read_peer(f"# starting\n{PEER}") == Speed(78.826162, 3994240)
    without_cells = PEER.replace("fluid cells", "cells")
    wrong = PEER.replace("soa", "aos"), PEER.replace("  dp", "  sp"), PEER.replace("P: ", "")
    for other in (*wrong, without_cells, ""):
        with pytest.raises(ProgramError):
            read_peer(other)


def test_other_fluid_cells_than_the_peers_are_a_fault_and_so_is_a_share_above_the_roof() -> None:
    ours = {"": [Speed(50.0, 100, 0.4)], ".one_step_a_pass": [Speed(20.0, 100, 1.1)]}
    found = {f.name: f.holds for f in judge("c.2", {**ours, PEERS[0]: [Speed(25.0, 101)]})}
    assert found == {
        "c.2.throughput": True, "c.2.roofline_fraction": True,
        "c.2.one_step_a_pass.throughput": False, "c.2.one_step_a_pass.roofline_fraction": False,
        "c.2.fluid_cells": False,
    }  # fmt: skip
    same = {f.name: f.holds for f in judge("c.2", {**ours, PEERS[0]: [Speed(25.0, 100)]})}
    assert same["c.2.fluid_cells"] is True


def test_what_the_peer_writes_is_gone_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer = tmp_path / "lbmbenchk"
    peer.write_text(f"#!/bin/sh\n: > ux-progress.dat\necho '{PEER.strip()}'\n")
    peer.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert run_peer(Path("lbmbenchk"), "channel", 1).mflups == 78.826162
    assert list(tmp_path.iterdir()) == [peer]


def test_a_ducts_permeability_is_measured_for_real() -> None:
    try:
        kernel_path(PROGRAM)
    except MissingError as error:
        pytest.skip(error.message)
    command = command_of(LATTICE_BOLTZMANN, parameters(size="4x16x24", threads=2, roofline=False))
    done = process.run([str(command.program), *command.arguments], check=False)
    samples = {s.metric: s.value for s in LATTICE_BOLTZMANN.parse(done.stdout)}
    assert samples["permeability_error"] < 0.01
    assert samples["throughput_mflups"] > 0
