"""Runs an existing build of NPB: NASA's own code, or a port that prints the same table."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from aferir.errors import MissingError, ProgramError, UnverifiedError
from aferir.model.checking import Wrong
from aferir.model.finding import Finding
from aferir.model.parameters import text, told, whole
from aferir.model.record import Sample
from aferir.programs.base import Command, Program
from aferir.programs.declared import MOST_THREADS, WhichMpi, absolute
from aferir.programs.mpi import (
    MOST_PROCESSES,
    find_launcher,
    placement_options,
    variable_options,
)
from aferir.programs.npb.threads import array_bytes

PROGRAM = "npb-reference"
ReferenceKernel = Literal["ep", "cg", "is", "mg", "ft", "bt", "sp", "lu", "ua"]
ReferenceClass = Literal["S", "W", "A", "B", "C", "D", "E", "F"]

_PROCESS = 16 * 2**20
_LONGEST_OUTPUT = 2**20
_NUMBER = r"\s*=\s*([0-9]+(?:\.[0-9]*)?(?:[EeDd][+-]?[0-9]+)?)\s*$"


class ReferenceRun(msgspec.Struct, frozen=True):
    """Figures of a verified run from the table at its end; `duration_s` is rounded to 0.01 s."""

    duration_s: float
    mops: float


class NpbReferenceParameters(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of one program of a build."""

    npb_home: Annotated[
        str,
        text("folder of an NPB build that is here", "/opt/NPB", parse=absolute, pattern="^/"),
    ]
    kernel: Annotated[ReferenceKernel, told("what is computed")]
    problem_class: Annotated[ReferenceClass, told("problem size, if it was built for it")] = (
        msgspec.field(name="class")
    )
    threads: Annotated[int, whole("OMP_NUM_THREADS", 1, MOST_THREADS)] = 1
    launch: Annotated[Literal["openmp", "mpi"], told("`mpi`: start it with `mpirun`")] = "openmp"
    processes: Annotated[int, whole('of `launch = "mpi"`', 1, MOST_PROCESSES, unset="1")] | None = (
        None
    )
    mpi: WhichMpi | None = None


class NpbReference(Program[NpbReferenceParameters]):
    """One program of an NPB build that an experiment names."""

    name = PROGRAM
    parameters = NpbReferenceParameters

    def validate(self, parameters: NpbReferenceParameters) -> list[Wrong]:
        """Check that `processes` is only set for a build with MPI."""
        if parameters.launch == "mpi" or parameters.processes is None:
            return []
        return [Wrong("processes", "are of a build with MPI", 'write launch = "mpi" too')]

    def memory_bytes(self, parameters: NpbReferenceParameters) -> int:
        """Bytes of the arrays that the specification prescribes, if known, and of the processes."""
        arrays = array_bytes(parameters.kernel, parameters.problem_class)
        return _PROCESS * (parameters.processes or 1) + arrays

    def check(self) -> list[Finding]:
        """Always ok, as the build is only known from an experiment."""
        return [Finding(PROGRAM, "ok", "runs the NPB build whose folder is npb_home")]

    def command(self, parameters: NpbReferenceParameters) -> Command:
        """The command line. Errors: MissingError if the program or its MPI is missing."""
        variables = {"OMP_NUM_THREADS": str(parameters.threads)}
        program = find_reference(parameters)
        if parameters.launch != "mpi":
            return Command(program, (), variables)
        launcher = find_launcher(parameters.mpi)
        return Command(
            Path(launcher.path),
            (
                *placement_options(launcher.mpi, root=os.geteuid() == 0),
                *variable_options(launcher.mpi, variables),
                *("-n", str(parameters.processes or 1), str(program)),
            ),
        )

    def parse(self, stdout: str) -> tuple[Sample, ...]:
        """`duration_s` and `throughput_mops`. Errors: as for `Program.parse`."""
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


def find_reference(parameters: NpbReferenceParameters) -> Path:
    """The program in `npb_home` or its `bin`: cg.A.x, cg.A, or cg.A.4 as in NPB 2 and 3.3.

    Errors: MissingError if there is none.
    """
    home = Path(parameters.npb_home)
    stem = f"{parameters.kernel}.{parameters.problem_class}"
    names = [f"{stem}.x", stem, f"{stem}.{parameters.processes or 1}"]
    for folder in (home / "bin", home):
        for name in names:
            if (folder / name).is_file():
                return folder / name
    raise MissingError(
        f"there is no program {' or '.join(names)} in {home} or its bin",
        remedy=f"build it there: make {parameters.kernel} CLASS={parameters.problem_class}",
    )


def read_reference(text: str) -> ReferenceRun:
    """Parse the table that an NPB program prints at its end.

    Errors: UnverifiedError if it reports a failed verification, ProgramError if there is no table.
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


NPB_REFERENCE = NpbReference()
