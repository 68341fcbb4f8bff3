"""Commands of mpirun for several hosts."""

from __future__ import annotations

import pytest

from aferir.hosts.launching import over_all
from aferir.linux import process
from aferir.programs.mpi import YIELDS

NAMES = ("a", "b")
AGENT = ("--mca", "plm_rsh_agent", "/opt/aferir/enter", "--mca", "plm_rsh_no_tree_spawn", "1")
HYDRA = ("-launcher", "ssh", "-launcher-exec", "/opt/aferir/enter", "-localhost", "10.78.0.1")


@pytest.mark.parametrize(
    ("launcher", "ranks", "placing"),
    [
        ("mpirun.openmpi", "4", (*AGENT, "--host", "a:2,b:2")),
        ("mpirun.openmpi", "3", (*AGENT, "--host", "a:2,b:2")),
        ("mpirun.mpich", "2", (*HYDRA, "-hosts", "a:1,b:1")),
    ],
)
def test_each_host_has_as_many_ranks(launcher: str, ranks: str, placing: tuple[str, ...]) -> None:
    line = (launcher, "-n", ranks, "/opt/aferir/ep", "--class", "S")
    found = over_all(line, NAMES, "10.78.0.1", lambda path: ("sh", path))
    assert found == (
        *(launcher, *placing, "-n", ranks),
        *("sh", "/opt/aferir/ep", "--class", "S"),
    )


def test_what_mpirun_does_not_start_is_on_the_first_alone() -> None:
    line = ("/opt/aferir/ep", "-n", "4")
    assert over_all(line, NAMES, "10.78.0.1", lambda path: (path,)) == line


@pytest.mark.parametrize(("ranks", "yields"), [("1", ""), ("1000000", "1")])
def test_a_rank_yields_where_its_host_has_more_of_them_than_processors(
    ranks: str, yields: str
) -> None:
    script = f'{YIELDS}printf "%s" "$OMPI_MCA_mpi_yield_when_idle"'
    of_rank = {"OMPI_COMM_WORLD_LOCAL_SIZE": ranks}
    assert process.run(["sh", "-c", script], environment=of_rank).stdout == yields
