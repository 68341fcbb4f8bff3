"""Distributes the ranks of an MPI program over several hosts, or instances on them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

from aferir.hosts import enter
from aferir.programs.base import PROGRAM_FOLDER


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
    return (
        launcher,
        *_placing(launcher, places, address),
        *words[:program],
        *started(words[program]),
        *words[program + 1 :],
    )


def _placing(launcher: str, places: str, address: str) -> tuple[str, ...]:
    """Options by which an mpirun places ranks on `NAME:RANKS,...`, reached by the script `enter`.

    Without `address`, Hydra (MPICH's launcher) tells the other hosts the first one's name instead.
    """
    if PurePosixPath(launcher).name.endswith("mpich"):
        at = ("-localhost", address) if address else ()
        return ("-launcher", "ssh", "-launcher-exec", str(enter.PATH), *at, "-hosts", places)
    agent = ("--mca", "plm_rsh_agent", str(enter.PATH), "--mca", "plm_rsh_no_tree_spawn", "1")
    return (*agent, "--host", places)


def _launches(line: Sequence[str]) -> bool:
    return PurePosixPath(line[0]).name.startswith("mpirun") and "-n" in line
