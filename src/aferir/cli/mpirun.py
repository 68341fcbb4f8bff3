"""Run an MPI program so that MPI_Wtime is one time for all its ranks.

Everything after the options below goes to mpirun as it stands; the program needs neither to be
changed nor to be built again. What is guaranteed, and what is not: docs/reference/mpi.md.
"""

from __future__ import annotations

import argparse
import os
import re
import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec

from aferir.errors import MissingError, UsageError

NAME = "mpirun"
HELP = "run an MPI program whose MPI_Wtime is one time for all ranks"

_LIBRARY = "libaferir-mpi-{mpi}.so"
_PACKAGES = {
    "openmpi": "libopenmpi-dev openmpi-bin",
    "mpich": "libmpich-dev mpich",
}


class Launcher(msgspec.Struct, frozen=True):
    """An mpirun, and the MPI that it belongs to."""

    path: str
    mpi: str
    """openmpi or mpich"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir mpirun`."""
    parser.usage = "aferir mpirun [-h] [--mpi {openmpi,mpich}] [--report] ARGUMENT ..."
    parser.epilog = (
        "example: aferir mpirun -n 8 ./program    (ARGUMENT: mpirun's own, e.g. -n 8 ./program)"
    )
    parser.add_argument(
        "--mpi", choices=tuple(_PACKAGES), help="whose mpirun (default: what `mpirun` is)"
    )
    parser.add_argument(
        "--report",
        action="store_true",
        help="each rank prints on standard error how its clock was set, as JSON",
    )
    parser.add_argument("arguments", nargs="*", help=argparse.SUPPRESS)


def separate(arguments: Sequence[str]) -> list[str]:
    """Put `--` before what is mpirun's own, for argparse would take its options for ours."""
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
    """Become mpirun: its exit code, its signals and its terminal are the user's."""
    if not options.arguments:
        raise UsageError("nothing to run", remedy="e.g. aferir mpirun -n 8 ./program")
    launcher = find_launcher(options.mpi)
    library = find_library(launcher.mpi)
    command = launch_command(launcher, library, options.arguments, report=options.report)
    os.execv(command[0], command)  # noqa: S606  (it takes our place; there is no child)


def find_launcher(mpi: str | None) -> Launcher:
    """Find the mpirun of `mpi`, or the one that is called so and the MPI it belongs to.

    Errors: MissingError.
    """
    names = ["mpirun"] if mpi is None else [f"mpirun.{mpi}", "mpirun", "mpiexec"]
    for name in names:
        path = shutil.which(name)
        found = None if path is None else _mpi_of(path)
        if path is not None and found is not None and mpi in (None, found):
            return Launcher(path, found)
        if path is not None and mpi is None:
            raise MissingError(
                f"{path} is of neither Open MPI nor MPICH",
                remedy="name one of them: --mpi openmpi or --mpi mpich",
            )
    packages = " or ".join(_PACKAGES.values()) if mpi is None else _PACKAGES[mpi]
    raise MissingError(
        f"there is no mpirun{'' if mpi is None else ' of ' + mpi} on this machine",
        remedy=f"apt-get install {packages}",
    )


def _mpi_of(mpirun: str) -> str | None:
    from aferir import process

    done = process.run([mpirun, "--version"], timeout_s=30, check=False)
    return name_in_version(done.stdout + done.stderr)


def name_in_version(text: str) -> str | None:
    """Tell which MPI printed this as its mpirun's version; None: another one."""
    if re.search(r"Open ?MPI|OpenRTE|PRRTE", text):
        return "openmpi"
    return "mpich" if re.search(r"HYDRA|MPICH", text, flags=re.IGNORECASE) else None


def find_library(mpi: str) -> Path:
    """Find the library that stands before this MPI's.

    Errors: MissingError where it was not built, which is so where `mpicc` was missing then.
    """
    from aferir.installed import installed

    name = _LIBRARY.format(mpi=mpi)
    path = installed(f"lib/{name}")
    if path is None or not path.exists():
        raise MissingError(
            f"{name} is not in this installation of aferir",
            remedy=f"apt-get install {_PACKAGES[mpi]}, then install aferir again",
        )
    return path


def launch_command(
    launcher: Launcher, library: Path, arguments: list[str], *, report: bool
) -> list[str]:
    """Put the ranks' environment before what the user gave; the launcher's own stays as it is."""
    preload = ":".join(filter(None, [str(library), os.environ.get("LD_PRELOAD", "")]))
    variables = {"LD_PRELOAD": preload, "AFERIR_MPI_JOB": secrets.token_hex(8)}
    if report:
        variables["AFERIR_MPI_REPORT"] = "1"
    command = [launcher.path]
    for name, value in variables.items():
        if launcher.mpi == "openmpi":
            command += ["-x", f"{name}={value}"]
        else:
            command += ["-genv", name, value]
    return command + arguments
