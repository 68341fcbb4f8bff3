"""Starting MPI programs: options of the launcher, and messages if an MPI is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from aferir.errors import MissingError
from aferir.linux import process
from aferir.programs import mpi
from aferir.programs.mpi import MPIS, Mpi, check_mpi, find_launcher, launch

VERSIONS = {"openmpi": "mpirun.openmpi (OpenRTE) 4.1.4", "mpich": "HYDRA build details:"}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with both launchers and with the program `waves` for both."""
    (tmp_path / "cat").symlink_to("/bin/cat")
    for name in MPIS:
        _executable(tmp_path / f"mpirun.{name}", f"#!/bin/sh\necho '{VERSIONS[name]}'\n")
        _executable(tmp_path / f"waves-{name}", "")
    (tmp_path / "mpirun").symlink_to("mpirun.mpich")
    monkeypatch.setenv("PATH", f"{tmp_path}:/nowhere")
    monkeypatch.setenv("AFERIR_KERNELS", str(tmp_path))
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    monkeypatch.setattr(mpi, "find_library", lambda name: Path(f"/lib/{name}.so"))
    monkeypatch.setattr("os.geteuid", lambda: 0)
    return tmp_path


def _executable(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def test_open_mpi_is_told_to_take_more_ranks_than_processors_and_root(machine: Path) -> None:
    command = launch("waves", ["--steps", "3"], processes=48, mpi="openmpi")
    assert command.program == machine / "mpirun.openmpi"
    assert command.arguments == (
        *("--allow-run-as-root", "--oversubscribe", "--bind-to", "none"),
        *("-n", "48", str(machine / "waves-openmpi"), "--steps", "3"),
    )


@pytest.mark.usefixtures("machine")
def test_an_ordinary_user_is_not_taken_for_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert "--allow-run-as-root" not in launch("waves", processes=2, mpi="openmpi").arguments


def test_a_program_is_started_by_the_launcher_of_its_own_mpi(machine: Path) -> None:
    assert find_launcher(None).mpi == "mpich"
    command = launch("waves", processes=2)
    assert command.program == machine / "mpirun"
    alone = ("-genv", "UCX_TLS", "self,sm")
    assert command.arguments == (*alone, "-n", "2", str(machine / "waves-mpich"))


def test_ranks_of_mpich_on_one_host_leave_the_interfaces_of_its_network_alone(
    machine: Path,
) -> None:
    """One that is removed while they begin would end them."""
    command = launch("waves", processes=2, mpi="mpich")
    ranks = ("-n", "2", str(machine / "waves-mpich"))
    assert command.arguments == ("-genv", "UCX_TLS", "self,sm", *ranks)
    assert command.there is not None
    assert command.there.arguments == ranks


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("name", MPIS)
def test_ranks_get_the_library_and_a_job_that_no_other_has(name: Mpi) -> None:
    first = launch("waves", processes=2, mpi=name, preload=True, report=True).arguments
    second = launch("waves", processes=2, mpi=name, preload=True).arguments
    text = " ".join(first).replace(" ", "=")
    assert f"LD_PRELOAD=/lib/{name}.so" in text
    assert "AFERIR_MPI_REPORT=1" in text
    assert "AFERIR_MPI_REPORT" not in " ".join(second)
    assert "AFERIR_MPI_RULE" not in text
    published = launch("waves", processes=2, mpi=name, preload=True, rule="published").arguments
    assert "AFERIR_MPI_RULE=published" in " ".join(published).replace(" ", "=")
    jobs = {word for word in (*first, *second) if len(word.rpartition("=")[2]) == 16}
    assert len(jobs) == 2


def test_one_mpi_is_enough_and_without_any_it_is_missing(machine: Path) -> None:
    assert [f.status for f in check_mpi("waves", ["waves"])] == ["ok", "ok"]
    (machine / "waves-mpich").unlink()
    assert [f.status for f in check_mpi("waves", ["waves"])] == ["ok", "degraded"]
    (machine / "mpirun.openmpi").unlink()
    findings = check_mpi("waves", ["waves"])
    assert [f.status for f in findings] == ["missing", "missing"]
    assert "apt-get install libopenmpi-dev" in findings[0].remedy


def test_a_program_of_an_mpi_that_was_not_built_is_missing(machine: Path) -> None:
    (machine / "waves-openmpi").unlink()
    with pytest.raises(MissingError, match="waves-openmpi"):
        launch("waves", processes=2, mpi="openmpi")


@pytest.mark.parametrize("name", MPIS)
def test_a_real_launcher_starts_as_many_ranks_as_it_is_asked_for(
    name: Mpi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        find_launcher(name)
    except MissingError as error:
        pytest.skip(error.message)
    # Hydra may die of SIGPIPE where its ranks have ended before it has told them everything.
    _executable(tmp_path / f"hello-{name}", "#!/bin/sh\nsleep 0.3\necho hello $1\n")
    monkeypatch.setenv("AFERIR_KERNELS", str(tmp_path))
    command = launch("hello", ["there"], processes=3, mpi=name)
    done = process.run([str(command.program), *command.arguments])
    assert done.stdout.split("\n") == ["hello there"] * 3 + [""]
