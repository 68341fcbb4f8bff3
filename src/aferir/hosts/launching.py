"""Distributes the ranks of an MPI program over several hosts, or instances on them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

from aferir.hosts import enter
from aferir.programs.base import PROGRAM_FOLDER
from aferir.programs.mpi import Mpi, host_options


def over_all(
    line: tuple[str, ...],
    names: Sequence[str],
    address: str,
    started: Callable[[str], tuple[str, ...]],
) -> tuple[str, ...]:
    """Change a command of mpirun to place equally many ranks on each host; return others unchanged.

    `address` is the one at which the other hosts reach the first. `started` turns the path of a
    program of ours into the command by which a rank starts it.
    """
    if not _launches(line):
        return line
    launcher, *words = line
    ranks = int(words[words.index("-n") + 1])
    each = -(-ranks // len(names))
    program = next(k for k, word in enumerate(words) if word.startswith(f"{PROGRAM_FOLDER}/"))
    places = ",".join(f"{host}:{each}" for host in names)
    mpi: Mpi = "mpich" if PurePosixPath(launcher).name.endswith("mpich") else "openmpi"
    return (
        launcher,
        *host_options(mpi, places, str(enter.PATH), address),
        *words[:program],
        *started(words[program]),
        *words[program + 1 :],
    )


def _launches(line: Sequence[str]) -> bool:
    return PurePosixPath(line[0]).name.startswith("mpirun") and "-n" in line
