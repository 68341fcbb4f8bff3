from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from aferir.cli import main
from aferir.cli.mpirun import launch_command, separate
from aferir.programs import mpi
from aferir.programs.mpi import Launcher, name_in_version

OPEN_MPI = "mpirun.openmpi (OpenRTE) 4.1.4\n"
MPICH = "HYDRA build details:\n    Version:                                 4.0.2\n"


def _launcher(folder: Path, name: str, version: str) -> None:
    program = folder / name
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{version}END\n")
    program.chmod(0o755)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin-that-is-not-there")
    (tmp_path / "cat").symlink_to("/bin/cat")
    return tmp_path


def test_launchers_are_told_by_their_version() -> None:
    assert name_in_version(OPEN_MPI) == "openmpi"
    assert name_in_version("mpirun (Open MPI) 5.0.3") == "openmpi"
    assert name_in_version(MPICH) == "mpich"
    assert name_in_version("Intel(R) MPI Library for Linux") is None


def test_the_launchers_own_options_are_not_taken_for_ours() -> None:
    assert separate(["mpirun", "-n", "8", "./a", "--report"]) == [
        *("mpirun", "--", "-n", "8", "./a", "--report")
    ]
    assert separate(["mpirun", "--mpi", "mpich", "--report", "-n", "2", "a"]) == [
        *("mpirun", "--mpi", "mpich", "--report", "--", "-n", "2", "a")
    ]
    assert separate(["mpirun", "--mpi=mpich", "--", "a"]) == ["mpirun", "--mpi=mpich", "--", "a"]
    assert separate(["mpirun", "--rate", "0", "--rate=2", "-n", "2", "a"]) == [
        *("mpirun", "--rate", "0", "--rate=2", "--", "-n", "2", "a")
    ]
    assert separate(["run", "-n"]) == ["run", "-n"]


@pytest.mark.parametrize("text", ["-1", "61", "nan", "soon"])
def test_a_rate_is_learnt_within_a_minute(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["mpirun", f"--rate={text}", "a"])
    assert "is no number of seconds from 0 to 60" in capsys.readouterr().err


def test_ranks_get_the_library_and_a_job_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "other.so")
    monkeypatch.setattr("secrets.token_hex", lambda _: "job")
    library = Path("lib/x.so")
    told = mpi.preloaded(library, report=True, rate_s=1.0)
    assert launch_command(Launcher("mpirun", "openmpi"), told, ["-n", "2", "a"]) == [
        *("mpirun", "-x", "LD_PRELOAD=lib/x.so:other.so", "-x", "AFERIR_MPI_JOB=job"),
        *("-x", "AFERIR_MPI_REPORT=1", "-x", "AFERIR_MPI_RATE_MS=1000", "-n", "2", "a"),
    ]
    told = mpi.preloaded(library, report=False)
    assert launch_command(Launcher("mpirun", "mpich"), told, ["a"]) == [
        *("mpirun", "-genv", "LD_PRELOAD", "lib/x.so:other.so"),
        *("-genv", "AFERIR_MPI_JOB", "job", "a"),
    ]


def test_the_command_that_is_executed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executed: list[list[str]] = []

    def execute(_: str, command: list[str], variables: Mapping[str, str]) -> None:
        assert variables is os.environ
        executed.append(command)
        raise KeyboardInterrupt  # execve does not return

    _launcher(path, "mpirun", OPEN_MPI)
    _launcher(path, "mpirun.mpich", MPICH)
    monkeypatch.setattr(os, "execve", execute)
    monkeypatch.setattr(mpi, "find_library", lambda name: Path(f"{name}.so"))
    assert main(["mpirun", "-n", "2", "./a", "-h"]) == 130
    assert main(["mpirun", "--mpi", "mpich", "-n", "2", "./a"]) == 130
    assert executed[0][0] == str(path / "mpirun")
    assert "LD_PRELOAD=openmpi.so" in executed[0][2]
    assert executed[0][-4:] == ["-n", "2", "./a", "-h"]
    assert executed[1][0] == str(path / "mpirun.mpich")
    assert executed[1][-3:] == ["-n", "2", "./a"]


def test_errors_say_what_to_do(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["mpirun"]) == 2
    assert main(["mpirun", "-n", "2", "a"]) == 3
    assert "apt-get install libopenmpi-dev" in capsys.readouterr().err
    _launcher(path, "mpirun", "another 1.0\n")
    assert main(["mpirun", "-n", "2", "a"]) == 3
    assert "neither Open MPI nor MPICH" in capsys.readouterr().err
    assert main(["mpirun", "--mpi", "mpich", "a"]) == 3
    assert "no mpirun of mpich" in capsys.readouterr().err
    _launcher(path, "mpirun.mpich", MPICH)
    monkeypatch.setattr("aferir.programs.mpi.installed", lambda _: None)
    assert main(["mpirun", "--mpi", "mpich", "a"]) == 3
    assert "install aferir again" in capsys.readouterr().err
