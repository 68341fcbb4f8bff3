"""NAS Parallel Benchmarks by message passing: our own, on any permitted number of processes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated

import msgspec

from aferir.model.checking import Wrong
from aferir.model.finding import Finding
from aferir.model.parameters import told, whole
from aferir.model.plan import EnvironmentKind
from aferir.model.record import Sample, Series
from aferir.programs.base import Command, Program
from aferir.programs.declared import Isa, Kernel, ProblemClass, Processes, WhichMpi
from aferir.programs.kernels import options, positive, read_figures
from aferir.programs.mpi import MOST_PROCESSES, check_mpi, launch
from aferir.programs.network.over_links import (
    OverLinks,
    kinds_over_links,
    over_links,
    traffic_of_links,
    wrong_over_links,
)
from aferir.programs.npb.threads import CLASSES, KERNELS, array_bytes

PROGRAM = "npb-mpi"
MPI_KERNELS = KERNELS

_MEBI = 2**20
_PROCESS = 64 * _MEBI
"""Bytes of a process with its MPI: libraries and their buffers."""
_MOST_PROCESSES: Mapping[str, Mapping[str, int]] = {
    "ep": dict.fromkeys(CLASSES, 1024),
    "cg": {"S": 64, "W": 256, "A": 512, "B": 1024, "C": 1024, "D": 1024},
    "is": dict.fromkeys(CLASSES, 1024),
    "mg": {"S": 64, "W": 256, "A": 256, "B": 256, "C": 256, "D": 256},
    "ft": {"S": 64, "W": 32, "A": 128, "B": 256, "C": 512, "D": 1024},
    "bt": {"S": 10, "W": 22, "A": 62, "B": 100, "C": 160, "D": 406},
    "sp": {"S": 10, "W": 34, "A": 62, "B": 100, "C": 160, "D": 406},
    "lu": {"S": 25, "W": 225, "A": 961, "B": 1024, "C": 1024, "D": 1024},
}
"""Largest number of processes that a kernel and class can use."""
_ANY_NUMBER = ("ep", "bt", "sp")
_MOST_LU_COLUMNS: Mapping[str, int] = {"S": 5, "W": 15, "A": 31, "B": 50, "C": 80, "D": 203}
"""Largest number of columns of LU's grid of processes by class: each has two interior points or
more.
"""
_RIMS = ("bt", "sp", "lu")
"""Kernels whose processes also store many points of their neighbours, or copies to be sent."""


class NpbMpiParameters(OverLinks, frozen=True, kw_only=True):
    """Parameters of one kernel and problem class."""

    kernel: Annotated[Kernel, told("what is computed")]
    problem_class: Annotated[ProblemClass, told("problem size")] = msgspec.field(name="class")
    processes: Processes = 1
    mpi: WhichMpi | None = None
    isa: Isa | None = None
    share_among: Annotated[
        int,
        whole(
            "at most so many processes of a host share memory instead of exchanging messages (not"
            " in EP and, over several hosts, CG)",
            *(1, MOST_PROCESSES),
        ),
    ] = 1


class NpbMpi(Program[NpbMpiParameters]):
    """One kernel and problem class, computed by processes."""

    name = PROGRAM
    parameters = NpbMpiParameters

    def validate(self, parameters: NpbMpiParameters) -> list[Wrong]:
        """Check that the kernel can be divided among that number of processes."""
        wrong = _wrong_processes(parameters)
        return wrong or wrong_over_links(parameters, parameters.processes, parameters.mpi)

    def kinds_of(self, parameters: NpbMpiParameters) -> tuple[EnvironmentKind, ...]:
        """Only native if a test network is requested, which only the host can create; else all."""
        return kinds_over_links(parameters)

    def memory_bytes(self, parameters: NpbMpiParameters) -> int:
        """Bytes of the processes and arrays.

        With several processes, exchange buffers add half of the arrays, for BT, SP and LU all.
        """
        kernel, processes = parameters.kernel, parameters.processes
        arrays = array_bytes(kernel, parameters.problem_class)
        if processes > 1:
            arrays = arrays * 2 if kernel in _RIMS else arrays * 3 // 2
        return processes * _PROCESS + arrays

    def check(self) -> list[Finding]:
        """Whether an MPI and the programs for it are installed."""
        return check_mpi(PROGRAM, tuple(f"{PROGRAM}-{kernel}" for kernel in MPI_KERNELS))

    def command(self, parameters: NpbMpiParameters) -> Command:
        """The command line. Errors: MissingError if the program or its MPI is missing."""
        arguments = options(parameters, ("class", "isa", "share_among"), always=("class",))
        program = f"{PROGRAM}-{parameters.kernel}"
        if parameters.method is not None:
            return over_links(program, arguments, parameters, parameters.processes)
        return launch(program, arguments, processes=parameters.processes, mpi=parameters.mpi)

    def parse(self, stdout: str) -> tuple[Sample | Series, ...]:
        """`duration_s` and `throughput_mops` of a verified run; over links, also their traffic.

        Errors: as for `Program.parse`.
        """
        figures = read_figures(stdout, f"{PROGRAM}-")
        return (
            Sample("duration_s", positive(figures, "duration_s"), "s"),
            Sample("throughput_mops", positive(figures, "throughput_mops"), "Mop/s"),
            *traffic_of_links(figures),
        )


def possible_processes(kernel: str, problem_class: str, processes: int) -> bool:
    """Whether a kernel's class can be divided among that number of processes.

    EP, BT and SP take any number up to a limit, LU one that forms a grid with few enough columns,
    and the others a power of two.
    """
    if not 1 <= processes <= _MOST_PROCESSES[kernel][problem_class]:
        return False
    if kernel == "lu":
        return _columns(processes) <= _MOST_LU_COLUMNS[problem_class]
    return kernel in _ANY_NUMBER or processes.bit_count() == 1


def _columns(processes: int) -> int:
    """Columns of the grid of `processes` processes that is closest to a square."""
    return processes // max(n for n in range(1, math.isqrt(processes) + 1) if processes % n == 0)


def _wrong_processes(parameters: NpbMpiParameters) -> list[Wrong]:
    kernel, problem_class, asked = (
        parameters.kernel,
        parameters.problem_class,
        parameters.processes,
    )
    if possible_processes(kernel, problem_class, asked):
        return []
    most = _MOST_PROCESSES[kernel][problem_class]
    possible = f"a power of two up to {most}"
    if kernel in _ANY_NUMBER:
        possible = f"a whole number from 1 to {most}"
    elif kernel == "lu":
        possible = f"a product of two numbers up to {_MOST_LU_COLUMNS[problem_class]}"
    said = f"{asked} cannot share {kernel} of class {problem_class}"
    return [Wrong("processes", said, f"write {possible}")]


NPB_MPI = NpbMpi()
