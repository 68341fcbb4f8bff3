"""Run an MPI program so that MPI_Wtime is the same time on all its ranks.

Everything after the options below is passed to mpirun unchanged; the program need neither be
changed nor rebuilt. What is guaranteed, and what is not: docs/reference/mpi.md.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from aferir.errors import UsageError

if TYPE_CHECKING:
    from aferir.programs.mpi import Launcher

NAME = "mpirun"
HELP = "run an MPI program whose MPI_Wtime is one time for all ranks"
_FLAGS = ("-h", "--help", "--report")
_VALUED = ("--mpi", "--rate")
_LONGEST_RATE_S = 60.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir mpirun`."""
    parser.usage = (
        "aferir mpirun [-h] [--mpi {openmpi,mpich}] [--rate SECONDS] [--report] ARGUMENT ..."
    )
    parser.epilog = (
        "example: aferir mpirun -n 8 ./program    (ARGUMENT: mpirun's own, e.g. -n 8 ./program)"
    )
    parser.add_argument(
        "--mpi",
        choices=("openmpi", "mpich"),
        help="MPI whose mpirun is used (default: that of `mpirun`)",
    )
    parser.add_argument(
        "--rate",
        type=_rate_s,
        default=1.0,
        metavar="SECONDS",
        help="seconds for which MPI_Init also measures the rates of clocks if ranks are on several "
        "hosts, at most 60; 0: offsets alone (default: 1)",
    )
    parser.add_argument(
        "--report",
        action="store_true",
        help="each rank prints on standard error how its clock was set, as JSON",
    )
    parser.add_argument("arguments", nargs="*", help=argparse.SUPPRESS)


def _rate_s(text: str) -> float:
    """Parse the seconds of `--rate`. Errors: ArgumentTypeError."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0.0 <= seconds <= _LONGEST_RATE_S:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds from 0 to 60")
    return seconds


def separate(arguments: Sequence[str]) -> list[str]:
    """Insert `--` before the arguments of mpirun, which argparse would take for ours."""
    given = list(arguments)
    if given[:1] != [NAME]:
        return given
    own = 1
    while own < len(given):
        if given[own] in _FLAGS or given[own].startswith(tuple(f"{name}=" for name in _VALUED)):
            own += 1
        elif given[own] in _VALUED:
            own += 2
        else:
            break
    return given if "--" in given[own : own + 1] else [*given[:own], "--", *given[own:]]


def execute(options: argparse.Namespace) -> int:
    """Replace this process by mpirun, so that exit code, signals and terminal are mpirun's."""
    if not options.arguments:
        raise UsageError("nothing to run", remedy="e.g. aferir mpirun -n 8 ./program")
    from aferir.programs.mpi import find_launcher, find_library, preloaded

    launcher = find_launcher(options.mpi)
    library = find_library(launcher.mpi)
    variables = preloaded(library, report=options.report, rate_s=options.rate)
    command = launch_command(launcher, variables, options.arguments)
    os.execve(command[0], command, os.environ)  # noqa: S606  (it takes our place; there is no child)


def launch_command(
    launcher: Launcher, variables: Mapping[str, str], arguments: Sequence[str]
) -> list[str]:
    """Command of mpirun with the ranks' environment variables before the user's arguments."""
    from aferir.programs.mpi import variable_options

    return [launcher.path, *variable_options(launcher.mpi, variables), *arguments]
