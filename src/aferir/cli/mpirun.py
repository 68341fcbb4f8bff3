"""Run an MPI program so that MPI_Wtime is the same time on all its ranks.

Everything after the options below is passed to mpirun unchanged; the program need neither be
changed nor rebuilt. What is guaranteed, and what is not: docs/reference/mpi.md.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from aferir.errors import UsageError

if TYPE_CHECKING:
    from aferir.programs.mpi import Launcher

NAME = "mpirun"
HELP = "run an MPI program whose MPI_Wtime is one time for all ranks"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir mpirun`."""
    parser.usage = "aferir mpirun [-h] [--mpi {openmpi,mpich}] [--report] ARGUMENT ..."
    parser.epilog = (
        "example: aferir mpirun -n 8 ./program    (ARGUMENT: mpirun's own, e.g. -n 8 ./program)"
    )
    parser.add_argument(
        "--mpi", choices=("openmpi", "mpich"), help="whose mpirun (default: what `mpirun` is)"
    )
    parser.add_argument(
        "--report",
        action="store_true",
        help="each rank prints on standard error how its clock was set, as JSON",
    )
    parser.add_argument("arguments", nargs="*", help=argparse.SUPPRESS)


def separate(arguments: Sequence[str]) -> list[str]:
    """Insert `--` before the arguments of mpirun, which argparse would take for ours."""
    given = list(arguments)
    if given[:1] != [NAME]:
        return given
    own = 1
    while own < len(given):
        if given[own] in ("-h", "--help", "--report") or given[own].startswith("--mpi="):
            own += 1
        elif given[own] == "--mpi":
            own += 2
        else:
            break
    return given if "--" in given[own : own + 1] else [*given[:own], "--", *given[own:]]


def execute(options: argparse.Namespace) -> int:
    """Replace this process by mpirun, so that exit code, signals and terminal are mpirun's."""
    if not options.arguments:
        raise UsageError("nothing to run", remedy="e.g. aferir mpirun -n 8 ./program")
    from aferir.programs.mpi import find_launcher, find_library

    launcher = find_launcher(options.mpi)
    library = find_library(launcher.mpi)
    command = launch_command(launcher, library, options.arguments, report=options.report)
    os.execv(command[0], command)  # noqa: S606  (it takes our place; there is no child)


def launch_command(
    launcher: Launcher, library: Path, arguments: Sequence[str], *, report: bool
) -> list[str]:
    """Command of mpirun with the ranks' environment variables before the user's arguments."""
    from aferir.programs.mpi import preloaded, variable_options

    variables = preloaded(library, report=report)
    return [launcher.path, *variable_options(launcher.mpi, variables), *arguments]
