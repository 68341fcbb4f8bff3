"""An NPB build that is here already: NASA's own code, or a port that prints the same table."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from aferir.errors import MissingError, ProgramError, UnverifiedError
from aferir.model.finding import Finding
from aferir.model.plan import Parameter
from aferir.model.record import Sample
from aferir.programs.base import Command
from aferir.programs.kernels import MOST_THREADS, threads_of, wrong_integer
from aferir.programs.mpi import (
    MOST_PROCESSES,
    find_launcher,
    mpi_of,
    placement_options,
    variable_options,
    wrong_mpi,
)
from aferir.programs.npb.ranks import processes_of
from aferir.programs.npb.threads import array_bytes, one_of

PROGRAM = "npb-reference"
REFERENCE_KERNELS = ("ep", "cg", "is", "mg", "ft", "bt", "sp", "lu", "ua")
REFERENCE_CLASSES = ("S", "W", "A", "B", "C", "D", "E", "F")
LAUNCHES = ("openmp", "mpi")

_PROCESS = 16 * 2**20
_LONGEST_OUTPUT = 2**20
_NUMBER = r"\s*=\s*([0-9]+(?:\.[0-9]*)?(?:[EeDd][+-]?[0-9]+)?)\s*$"


class ReferenceRun(msgspec.Struct, frozen=True):
    """The closing table of a verified run; `duration_s` is in hundredths, and may be 0."""

    duration_s: float
    mops: float


class NpbReferenceWorkload:
    """Parameters `npb_home`, `kernel`, `class`, `threads`, `launch`, `processes` and `mpi`."""

    program = PROGRAM
    parameters: tuple[str, ...] = (
        "npb_home", "kernel", "class", "threads", "launch", "processes", "mpi",
    )  # fmt: skip

    def validate(self, parameters: Mapping[str, Parameter]) -> list[str]:
        """`npb_home`, `kernel` and `class` are needed; `launch` is openmp unless given."""
        wrong = one_of(parameters, "kernel", REFERENCE_KERNELS)
        wrong += one_of(parameters, "class", REFERENCE_CLASSES)
        wrong += one_of({"launch": LAUNCHES[0], **parameters}, "launch", LAUNCHES)
        wrong += wrong_integer(parameters, "threads", 1, MOST_THREADS)
        wrong += wrong_integer(parameters, "processes", 1, MOST_PROCESSES)
        wrong += wrong_mpi(parameters)
        home = parameters.get("npb_home")
        if not isinstance(home, str) or not home.startswith("/"):
            wrong.append(f"npb_home: {str(home)[:40]!r} is no folder; write its whole path")
        if parameters.get("launch") != "mpi" and "processes" in parameters:
            wrong.append('processes: are of a build with MPI; write launch = "mpi" too')
        return wrong

    def memory_bytes(self, parameters: Mapping[str, Parameter]) -> int:
        """Arrays that the specification prescribes, as far as we know them, and the processes."""
        arrays = array_bytes(str(parameters.get("kernel")), str(parameters.get("class")))
        return _PROCESS * processes_of(parameters) + arrays

    def check(self) -> list[Finding]:
        """Nothing is missing but what an experiment names."""
        return [Finding(PROGRAM, "ok", "runs the NPB build whose folder is npb_home")]

    def command(self, parameters: Mapping[str, Parameter]) -> Command:
        """Errors: MissingError where the build has no such program, or its MPI is missing."""
        variables = {"OMP_NUM_THREADS": str(threads_of(parameters))}
        program = find_reference(parameters)
        if parameters.get("launch") != "mpi":
            return Command(program, (), variables)
        launcher = find_launcher(mpi_of(parameters))
        return Command(
            Path(launcher.path),
            (
                *placement_options(launcher.mpi, root=os.geteuid() == 0),
                *variable_options(launcher.mpi, variables),
                *("-n", str(processes_of(parameters)), str(program)),
            ),
        )

    def parse(self, stdout: str) -> tuple[Sample, ...]:
        """`duration_s` and `throughput_mops`; errors as in `Workload.parse`."""
        found = read_reference(stdout)
        if found.duration_s <= 0 or found.mops <= 0:
            raise ProgramError(
                "the program ended too soon for its clock of hundredths of a second",
                remedy="choose a larger class",
            )
        return (
            Sample("duration_s", found.duration_s, "s"),
            Sample("throughput_mops", found.mops, "Mop/s"),
        )


def find_reference(parameters: Mapping[str, Parameter]) -> Path:
    """Find the program in `npb_home` or its `bin`: cg.A.x, cg.A, or cg.A.4 as NPB 2 and 3.3 have.

    Errors: MissingError.
    """
    home = Path(str(parameters["npb_home"]))
    stem = f"{parameters['kernel']}.{parameters['class']}"
    names = [f"{stem}.x", stem, f"{stem}.{processes_of(parameters)}"]
    for folder in (home / "bin", home):
        for name in names:
            if (folder / name).is_file():
                return folder / name
    raise MissingError(
        f"there is no program {' or '.join(names)} in {home} or its bin",
        remedy=f"build it there: make {parameters['kernel']} CLASS={parameters['class']}",
    )


def read_reference(text: str) -> ReferenceRun:
    """Read the closing table of an NPB program.

    Errors: UnverifiedError where it says that it did not verify, ProgramError where there is no
    readable table.
    """
    text = text[-_LONGEST_OUTPUT:]
    verdicts = re.findall(r"^\s*Verification\s*=\s*(.*?)\s*$", text, flags=re.MULTILINE)
    if any(verdict != "SUCCESSFUL" for verdict in verdicts):
        raise UnverifiedError(
            "the NPB program did not verify its result",
            remedy="build it with less optimisation, and try whether it verifies then",
        )
    if not verdicts:
        raise ProgramError("the NPB program did not verify: it printed no closing table")
    return ReferenceRun(_last(text, "Time in seconds"), _last(text, "Mop/s total"))


def _last(text: str, name: str) -> float:
    found = re.findall(rf"^\s*{name}{_NUMBER}", text, flags=re.MULTILINE)
    number = float(found[-1].upper().replace("D", "E")) if found else math.nan
    if not math.isfinite(number):
        raise ProgramError(f"the NPB program printed no readable `{name}`")
    return number


NPB_REFERENCE = NpbReferenceWorkload()
