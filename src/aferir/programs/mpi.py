"""Starts MPI programs: selects the launcher, its options, and the preloaded library.

aferir's MPI programs are built once for each MPI, as `NAME-openmpi` and `NAME-mpich`; the launcher
of one MPI cannot start programs of another.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args

import msgspec

from aferir.errors import MissingError
from aferir.installed import installed
from aferir.linux import process
from aferir.model.finding import Finding
from aferir.model.variables import PRELOAD
from aferir.programs.base import Command
from aferir.programs.kernels import kernel_path

Mpi = Literal["openmpi", "mpich"]
Rule = Literal["short", "published"]
"""When two hosts stop comparing clocks: once the standard deviation of the shortest round trips is
below 500 ns. `short`: of the 4 shortest, within 18 exchanges; `published`: as in Dutra 2015."""
MPIS: tuple[Mpi, ...] = get_args(Mpi)
PACKAGES: Mapping[Mpi, str] = {
    "openmpi": "libopenmpi-dev openmpi-bin",
    "mpich": "libmpich-dev mpich",
}
IN_IMAGES: Mapping[Mpi, str] = {"openmpi": "openmpi-bin", "mpich": "mpich"}
"""Debian package that an image needs to run programs of each MPI."""
DEFAULT: Mpi = "openmpi"
"""MPI of instances on several hosts if the program names none."""
MOST_PROCESSES = 1024
_LIBRARY = "libaferir-mpi-{mpi}.so"
_ON_ONE_HOST: Mapping[Mpi, Mapping[str, str]] = {"openmpi": {}, "mpich": {"UCX_TLS": "self,sm"}}
"""Variables of ranks that are all on one host. UCX, by which MPICH sends, opens every interface of
the network otherwise, and MPI_Init fails when one is removed meanwhile: in 9 of 60 starts beside a
loop that made and removed one, and in none of 60 with them.
"""
_RATE_S = 1.0
"""Time in s after which hosts compare clocks again, the default of `aferir mpirun`."""

YIELDS = (
    '[ "${OMPI_COMM_WORLD_LOCAL_SIZE:-1}" -le "$(nproc)" ] || '
    "export OMPI_MCA_mpi_yield_when_idle=1; "
)
"""Shell commands of a rank on one of several hosts: it yields while it waits if its host has more
ranks than processors. Open MPI decides that by a host's slots, and is told its ranks as slots: four
ranks of lattice Boltzmann on two processors had 22 Mflup/s, and 84 to 102 where they yield.
"""
RANK = (
    f"{YIELDS}"
    "here=${AFERIR_HERE:-$AFERIR_PROGRAMS}; "
    f'[ -z "${PRELOAD}" ] || export LD_PRELOAD="$here/${PRELOAD}${{LD_PRELOAD:+:$LD_PRELOAD}}"; '
    'exec "$here/${0##*/}" "$@"'
)
"""Shell commands of a rank on one of several hosts: its program, and the library that it preloads,
are in the folder into which the host's agent copied them.
"""


class Launcher(msgspec.Struct, frozen=True):
    """An mpirun, and the MPI that it belongs to."""

    path: str
    mpi: Mpi


def launch(
    program: str,
    arguments: Sequence[str] = (),
    *,
    processes: int,
    mpi: Mpi | None = None,
    preload: bool = False,
    report: bool = False,
    rule: Rule = "short",
    wrapper: Sequence[str] = (),
    beside: Sequence[Path] = (),
) -> Command:
    """Run `program` (without its `-openmpi` or `-mpich`) with `processes` ranks on this host.

    Without `mpi`, the MPI of the launcher called `mpirun` is used. With `preload`, MPI_Wtime is one
    time for all ranks, as under `aferir mpirun`; with `report` as well, each rank reports on
    standard error how its clock was set; `rule` says when hosts stop comparing clocks. Ranks are
    not bound to CPUs: with either MPI, they may use all that the environment allows, even if they
    outnumber the CPUs. If there is a `wrapper`, each rank runs that command, followed by the
    program and its arguments. Ranks find `beside`, programs of ours, in the folder of theirs, on
    several hosts, too; there hosts also learn the rates of their clocks.

    Errors: MissingError if the launcher, the program or the library is missing.
    """
    launcher = find_launcher(mpi)
    path = kernel_path(f"{program}-{launcher.mpi}")
    library = find_library(launcher.mpi) if preload else None

    def command(variables: Mapping[str, str], files: tuple[Path, ...]) -> Command:
        return Command(
            Path(launcher.path),
            (
                *placement_options(launcher.mpi, root=os.geteuid() == 0),
                *variable_options(launcher.mpi, variables),
                *("-n", str(processes), *wrapper, str(path), *arguments),
            ),
            launched=path,
            files=files,
        )

    told = dict(_ON_ONE_HOST[launcher.mpi])
    spread: dict[str, str] = {}
    sent = tuple(beside)
    if library is not None:
        told |= preloaded(library, report=report, rule=rule)
        spread = preloaded(library, report=report, rule=rule, rate_s=_RATE_S)
        spread[PRELOAD] = library.name
        del spread["LD_PRELOAD"]
        sent = (library, *beside)
    return msgspec.structs.replace(command(told, tuple(beside)), there=command(spread, sent))


def placement_options(mpi: Mpi, *, root: bool) -> tuple[str, ...]:
    """Options that let any number of ranks run on any CPU, as any user.

    Open MPI by default binds ranks to cores, refuses more ranks than cores, and refuses root; MPICH
    does none of these.
    """
    if mpi == "mpich":
        return ()
    as_root = ("--allow-run-as-root",) if root else ()
    return (*as_root, "--oversubscribe", "--bind-to", "none")


def host_options(mpi: Mpi, places: str, enter: str, address: str) -> tuple[str, ...]:
    """Options of the launcher that place ranks on `NAME:RANKS,...`.

    `enter` is called as ssh would be. Without `address`, at which the other hosts reach the first,
    Hydra (MPICH's launcher) tells them the first one's name instead.
    """
    if mpi == "mpich":
        at = ("-localhost", address) if address else ()
        return ("-launcher", "ssh", "-launcher-exec", enter, *at, "-hosts", places)
    agent = ("--mca", "plm_rsh_agent", enter, "--mca", "plm_rsh_no_tree_spawn", "1")
    return (*agent, "--host", places)


def variable_options(mpi: Mpi, variables: Mapping[str, str]) -> tuple[str, ...]:
    """Options of the launcher that set variables in the ranks' environment."""
    if mpi == "openmpi":
        return tuple(word for name in variables for word in ("-x", f"{name}={variables[name]}"))
    return tuple(word for name in variables for word in ("-genv", name, variables[name]))


def preloaded(
    library: Path, *, report: bool, rule: Rule = "short", rate_s: float = 0.0
) -> dict[str, str]:
    """Environment variables that make all ranks read one MPI_Wtime: see docs/reference/mpi.md.

    Hosts compare clocks within MPI_Init, and once more after `rate_s` seconds, from which the
    difference of the clocks' rates is known; 0: only their offset is corrected.
    """
    preload = ":".join(filter(None, [str(library), os.environ.get("LD_PRELOAD", "")]))
    variables = {"LD_PRELOAD": preload, "AFERIR_MPI_JOB": secrets.token_hex(8)}
    variables |= {"AFERIR_MPI_REPORT": "1"} if report else {}
    variables |= {} if rule == "short" else {"AFERIR_MPI_RULE": rule}
    return variables | ({"AFERIR_MPI_RATE_MS": str(round(1000 * rate_s))} if rate_s else {})


def find_launcher(mpi: Mpi | None) -> Launcher:
    """The mpirun of `mpi`, or the one called `mpirun` and the MPI it belongs to.

    Errors: MissingError if there is none.
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
    packages = " or ".join(PACKAGES.values()) if mpi is None else PACKAGES[mpi]
    raise MissingError(
        f"there is no mpirun{'' if mpi is None else ' of ' + mpi} on this machine",
        remedy=f"apt-get install {packages}",
    )


def find_library(mpi: Mpi) -> Path:
    """Path of the library that is preloaded before this MPI's own library.

    Errors: MissingError if it was not built, because `mpicc` was missing then.
    """
    name = _LIBRARY.format(mpi=mpi)
    path = installed(f"lib/{name}")
    if path is None or not path.exists():
        raise MissingError(
            f"{name} is not in this installation of aferir",
            remedy=f"apt-get install {PACKAGES[mpi]}, then install aferir again",
        )
    return path


def name_in_version(text: str) -> Mpi | None:
    """The MPI whose mpirun prints this text as its version; None: another MPI."""
    if re.search(r"Open ?MPI|OpenRTE|PRRTE", text):
        return "openmpi"
    return "mpich" if re.search(r"HYDRA|MPICH", text, flags=re.IGNORECASE) else None


def check_mpi(subject: str, programs: Sequence[str]) -> list[Finding]:
    """One finding for each MPI: whether its launcher and the programs for it are installed.

    `programs`: names without `-openmpi` and `-mpich`. One MPI is sufficient: the other one is
    `degraded` if it is missing, and `missing` is only reported if both are.
    """
    findings = [_check(subject, mpi, programs) for mpi in MPIS]
    if any(finding.status == "ok" for finding in findings):
        return findings
    return [Finding(f.subject, "missing", f.message, f.remedy) for f in findings]


def _check(subject: str, mpi: Mpi, programs: Sequence[str]) -> Finding:
    try:
        launcher = find_launcher(mpi)
        for program in programs:
            kernel_path(f"{program}-{mpi}")
    except MissingError as error:
        remedy = f"apt-get install {PACKAGES[mpi]}, then install aferir again"
        return Finding(subject, "degraded", error.message, remedy)
    return Finding(subject, "ok", f"{len(programs)} programs are installed for {launcher.path}")


def _mpi_of(mpirun: str) -> Mpi | None:
    done = process.run([mpirun, "--version"], timeout_s=120, check=False)
    return name_in_version(done.stdout + done.stderr)
