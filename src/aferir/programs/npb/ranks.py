"""NAS Parallel Benchmarks by message passing: our own, as many processes as asked for."""

from __future__ import annotations

import math
from collections.abc import Mapping

from aferir.model.finding import Finding
from aferir.model.plan import Parameter
from aferir.model.record import Sample, Series
from aferir.programs.base import Command
from aferir.programs.kernels import positive, read_figures, wrong_integer
from aferir.programs.mpi import MOST_PROCESSES, check_mpi, launch, mpi_of, wrong_mpi
from aferir.programs.network.over_links import (
    PARAMETERS,
    is_over_links,
    over_links,
    traffic_of_links,
    wrong_over_links,
)
from aferir.programs.npb.threads import CLASSES, ISAS, array_bytes, one_of

PROGRAM = "npb-mpi"
MPI_KERNELS = ("ep", "cg", "is", "mg", "ft", "bt", "sp", "lu")

_MEBI = 2**20
_PROCESS = 64 * _MEBI
"""A process of its own with an MPI inside: its libraries and their buffers."""
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
"""By kernel and class; what the program can share its problem among."""
_ANY_NUMBER = ("ep", "bt", "sp")
_MOST_LU_COLUMNS: Mapping[str, int] = {"S": 5, "W": 15, "A": 31, "B": 50, "C": 80, "D": 203}
"""LU's processes form a grid, as square as their number allows; a pencil is two points wide."""
_RIMS = ("bt", "sp", "lu")
"""Kernels whose processes keep much of their neighbours' points, or send copies."""


class NpbMpiWorkload:
    """Parameters `kernel`, `class`, `processes`, `mpi`, `isa`, `share_among`, and of links."""

    program = PROGRAM
    parameters: tuple[str, ...] = (
        *("kernel", "class", "processes", "mpi", "isa", "share_among"),
        *PARAMETERS,
    )

    def validate(self, parameters: Mapping[str, Parameter]) -> list[str]:
        """`kernel` and `class` are needed; `processes` is 1 unless given.

        At most `share_among` processes of a host share memory; all unless given, with 1 none.
        """
        wrong = one_of(parameters, "kernel", MPI_KERNELS) + one_of(parameters, "class", CLASSES)
        if "isa" in parameters:
            wrong += one_of(parameters, "isa", ISAS)
        wrong += wrong_mpi(parameters)
        wrong += wrong_integer(parameters, "share_among", 1, MOST_PROCESSES)
        wrong = wrong or _wrong_processes(parameters)
        return wrong or wrong_over_links(parameters, processes_of(parameters))

    def memory_bytes(self, parameters: Mapping[str, Parameter]) -> int:
        """Arrays, shared out; what is exchanged needs half of them once more, or all."""
        kernel, processes = str(parameters.get("kernel")), processes_of(parameters)
        arrays = array_bytes(kernel, str(parameters.get("class")))
        if processes > 1:
            arrays = arrays * 2 if kernel in _RIMS else arrays * 3 // 2
        return processes * _PROCESS + arrays

    def check(self) -> list[Finding]:
        """Whether an MPI is here, and our programs for it."""
        return check_mpi(PROGRAM, tuple(f"{PROGRAM}-{kernel}" for kernel in MPI_KERNELS))

    def command(self, parameters: Mapping[str, Parameter]) -> Command:
        """Errors: MissingError where the program was not built, or its MPI is missing."""
        arguments = ["--class", str(parameters["class"])]
        if "isa" in parameters:
            arguments += ["--isa", str(parameters["isa"])]
        if "share_among" in parameters:
            arguments += ["--share-among", str(parameters["share_among"])]
        program = f"{PROGRAM}-{parameters['kernel']}"
        if is_over_links(parameters):
            return over_links(program, arguments, parameters, processes_of(parameters))
        return launch(
            program,
            arguments,
            processes=processes_of(parameters),
            mpi=mpi_of(parameters),
        )

    def parse(self, stdout: str) -> tuple[Sample | Series, ...]:
        """`duration_s` and `throughput_mops` of a verified run, over links their traffic too.

        Errors: as in `Workload.parse`.
        """
        figures = read_figures(stdout, f"{PROGRAM}-")
        return (
            Sample("duration_s", positive(figures, "duration_s"), "s"),
            Sample("throughput_mops", positive(figures, "throughput_mops"), "Mop/s"),
            *traffic_of_links(figures),
        )


def processes_of(parameters: Mapping[str, Parameter]) -> int:
    """Processes of the program; one unless more are asked for."""
    processes = parameters.get("processes", 1)
    return processes if isinstance(processes, int) else 1


def possible_processes(kernel: str, problem_class: str, processes: int) -> bool:
    """Whether the kernel can share that class among so many; some among any, others by halves."""
    if not 1 <= processes <= _MOST_PROCESSES[kernel][problem_class]:
        return False
    if kernel == "lu":
        return _columns(processes) <= _MOST_LU_COLUMNS[problem_class]
    return kernel in _ANY_NUMBER or processes.bit_count() == 1


def _columns(processes: int) -> int:
    """Of a grid of processes as square as their number allows."""
    return processes // max(n for n in range(1, math.isqrt(processes) + 1) if processes % n == 0)


def _wrong_processes(parameters: Mapping[str, Parameter]) -> list[str]:
    kernel, problem_class = str(parameters["kernel"]), str(parameters["class"])
    most = _MOST_PROCESSES[kernel][problem_class]
    wrong = wrong_integer(parameters, "processes", 1, most)
    if wrong or possible_processes(kernel, problem_class, processes_of(parameters)):
        return wrong
    possible = f"a power of two up to {most}"
    if kernel == "lu":
        possible = f"a product of two numbers up to {_MOST_LU_COLUMNS[problem_class]}"
    return [f"processes: {processes_of(parameters)} cannot share {kernel}; write {possible}"]


NPB_MPI = NpbMpiWorkload()
